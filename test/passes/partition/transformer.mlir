// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards --tandem-partition-module 2>/dev/null | FileCheck %s

tandem.mesh @mesh = <["dp"=2, "tp"=4]>

// Megatron's MLP: one all_reduce, which says why. Half of the 1,024 x 2
// operations on dp's ranks are done twice.
// CHECK-LABEL: func.func @mlp
// CHECK-SAME:    %arg0: tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}]>>
// CHECK-SAME:    %arg1: tensor<8x4xf32, #tandem.local<[8, 16], @mesh, [{}, {"tp"}]>>
// CHECK-SAME:    %arg2: tensor<4x8xf32, #tandem.local<[16, 8], @mesh, [{"tp"}, {}]>>
// CHECK-SAME:    tandem.flops = 4096 : i64, tandem.flops_unsharded = 2048 : i64
// CHECK-NEXT:    tandem.einsum {{.*}} -> tensor<4x4xf32, #tandem.local<[4, 16], @mesh, [{}, {"tp"}]>>
// CHECK-NEXT:    %[[P:.*]] = tandem.einsum {{.*}} -> tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}], unreduced={"tp"}>>
// CHECK-NEXT:    tandem.all_reduce %[[P]] over <"tp"> cause "reduction of einsum"
// CHECK-NEXT:    return
func.func @mlp(%x: tensor<4x8xf32>,
               %up: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
               %down: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %0 = tandem.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = tandem.einsum "bf,fd->bd" %0, %down : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Uneven: 7 over 4 is a capacity of 2, 10 over 4 one of 3.
// CHECK-LABEL: func.func @uneven
// CHECK-SAME:    tensor<7x3xf32, #tandem.local<[7, 10], @mesh, [{}, {"tp"}]>>
// CHECK:         tandem.einsum {{.*}} -> tensor<7x5xf32, #tandem.local<[7, 5], @mesh, [{}, {}], unreduced={"tp"}>>
// CHECK:         tandem.reduce_scatter {{.*}} over <"tp"> dim 0 cause "reduction of einsum" {{.*}} -> tensor<2x5xf32, #tandem.local<[7, 5], @mesh, [{"tp"}, {}]>>
func.func @uneven(%x: tensor<7x10xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<10x5xf32>)
    -> (tensor<7x5xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<7x10xf32>, tensor<10x5xf32>) -> tensor<7x5xf32>
  return %0 : tensor<7x5xf32>
}

// Vocabulary-parallel: each rank looks up its rows; the table never moves.
// CHECK-LABEL: func.func @vocabulary
// CHECK-SAME:    tensor<3x8xf32, #tandem.local<[10, 8], @mesh, [{"tp"}, {}]>>
// CHECK-NEXT:    %[[P:.*]] = tandem.embedding %arg0, %arg1 {{.*}}unreduced={"tp"}
// CHECK-NEXT:    tandem.all_reduce %[[P]] over <"tp"> cause "reduction of embedding"
// CHECK-NEXT:    return
func.func @vocabulary(%table: tensor<10x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                      %ids: tensor<2x3xi32>) -> tensor<2x3x8xf32> {
  %0 = tandem.embedding %table, %ids : (tensor<10x8xf32>, tensor<2x3xi32>) -> tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// Attention by heads: 3 KV heads over 2 ranks, their 2 groups over 2 more; one
// all_reduce over both parts, which are the whole axis.
// CHECK-LABEL: func.func @heads
// CHECK:         tandem.attention {{.*}} -> (tensor<2x5x2x1x4xf32, #tandem.local<[2, 5, 3, 2, 4], @mesh, [{}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]>>
// CHECK-NEXT:    %[[P:.*]] = tandem.einsum
// CHECK-NEXT:    tandem.all_reduce %[[P]] over <"tp"> cause "reduction of einsum"
// CHECK-NEXT:    return
func.func @heads(%x: tensor<2x5x12xf32>,
    %wq: tensor<3x2x4x12xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)2}, {}, {}]>},
    %wk: tensor<3x4x12xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)2}, {}, {}]>},
    %wo: tensor<12x3x2x4xf32>, %positions: tensor<2xi32>) -> tensor<2x5x12xf32> {
  %q = tandem.einsum "bsd,kghd->bskgh" %x, %wq : (tensor<2x5x12xf32>, tensor<3x2x4x12xf32>) -> tensor<2x5x3x2x4xf32>
  %k = tandem.einsum "bsd,khd->bskh" %x, %wk : (tensor<2x5x12xf32>, tensor<3x4x12xf32>) -> tensor<2x5x3x4xf32>
  %y, %lse = tandem.attention %q, %k, %k, %positions {causal, scale = 0.5 : f64} : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2xf32>)
  %o = tandem.einsum "bskgh,dkgh->bsd" %y, %wo : (tensor<2x5x3x2x4xf32>, tensor<12x3x2x4xf32>) -> tensor<2x5x12xf32>
  return %o : tensor<2x5x12xf32>
}

// Maxima are brought together as maxima.
// CHECK-LABEL: func.func @maximum
// CHECK-NEXT:    tandem.reduce max, {{.*}} -> tensor<5xf32, #tandem.local<[5], @mesh, [{}], unreduced={"tp"}, max>>
// CHECK-NEXT:    tandem.all_reduce
func.func @maximum(%x: tensor<5x7xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<5xf32> {
  %0 = tandem.reduce max, %x [1] : (tensor<5x7xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// A constraint is gone; what it asked for is a collective with its cause.
// CHECK-LABEL: func.func @constraint
// CHECK-NEXT:    tandem.all_to_all %arg0 over <"tp"> from 0 to 1 cause "sharding_constraint"
// CHECK-NEXT:    tandem.all_gather {{.*}} over <"tp"> dim 1 cause "output"
// CHECK-NEXT:    return
func.func @constraint(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}) {
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

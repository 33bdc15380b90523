// RUN: tandem-opt %s --tandem-propagate-shardings 2>/dev/null | FileCheck %s

tandem.mesh @mesh = <["dp"=2, "tp"=4]>

// From the last use back to the first argument.
// CHECK-LABEL: func.func @backward(
// CHECK-SAME:    tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>},
func.func @backward(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>)
    -> (tensor<8x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"dp"}]>}) {
  // CHECK: tandem.unary exp, {{.*}}[{"dp"}, {}]
  %0 = tandem.unary exp, %x : tensor<4x8xf32>
  %1 = tandem.transpose %0 [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = tandem.sum %1, %y : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// Heads over one part of an axis, groups over the other; 3 heads over 2 ranks
// are uneven.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME:    tensor<12x3x2x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp":(1)2}, {"tp":(2)2}, {}]>}
func.func @heads(%x: tensor<2x5x12xf32>,
    %wq: tensor<3x2x4x12xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)2}, {}, {}]>},
    %wk: tensor<3x4x12xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)2}, {}, {}]>},
    %wo: tensor<12x3x2x4xf32>, %positions: tensor<2xi32>) -> tensor<2x5x12xf32> {
  %q = tandem.einsum "bsd,kghd->bskgh" %x, %wq : (tensor<2x5x12xf32>, tensor<3x2x4x12xf32>) -> tensor<2x5x3x2x4xf32>
  %k = tandem.einsum "bsd,khd->bskh" %x, %wk : (tensor<2x5x12xf32>, tensor<3x4x12xf32>) -> tensor<2x5x3x4xf32>
  // CHECK: tandem.attention {{.*}}[{}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]>, #tandem.sharding<@mesh, [{}, {}, {"tp":(1)2}, {"tp":(2)2}]>]
  %y, %lse = tandem.attention %q, %k, %k, %positions {causal, scale = 0.5 : f64} : (tensor<2x5x3x2x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x4xf32>, tensor<2x5x3x2xf32>)
  %o = tandem.einsum "bskgh,dkgh->bsd" %y, %wo : (tensor<2x5x3x2x4xf32>, tensor<12x3x2x4xf32>) -> tensor<2x5x12xf32>
  return %o : tensor<2x5x12xf32>
}

// A table split over its rows leaves the result unreduced.
// CHECK-LABEL: func.func @embedding(
func.func @embedding(%table: tensor<10x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                     %ids: tensor<2x3xi32>) -> tensor<2x3x8xf32> {
  // CHECK: tandem.embedding {{.*}}[#tandem.sharding<@mesh, [{}, {}, {}], unreduced={"tp"}>]
  %0 = tandem.embedding %table, %ids : (tensor<10x8xf32>, tensor<2x3xi32>) -> tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// Closed dimensions take nothing, open ones do, but not what `replicated`
// forbids.
// CHECK-LABEL: func.func @closed(
// CHECK-SAME:    tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {"dp"}]>},
// CHECK-SAME:    tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
// CHECK-SAME:    tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
// CHECK-SAME:    tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {"dp"}]>})
func.func @closed(%a: tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {"dp"}]>},
                  %b: tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{?}, {}]>},
                  %c: tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{?}, {?}], replicated={"dp"}>},
                  %d: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = tandem.sum %a, %b, %c, %d : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A reshape keeps shards where pieces stay whole: heads merge, 24 becomes
// 2 x 12 over both axes, and 9 over 2 cannot become 3 x 3.
// CHECK-LABEL: func.func @reshapes(
func.func @reshapes(%x: tensor<4x8x5xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}, {}]>},
                    %y: tensor<24xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp", "tp"}]>},
                    %z: tensor<9xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}]>})
    -> (tensor<4x40xf32>, tensor<2x12xf32>, tensor<3x3xf32>) {
  // CHECK: tandem.reshape {{.*}}[{}, {"tp"}]{{.*}} -> tensor<4x40xf32>
  %0 = tandem.reshape %x : (tensor<4x8x5xf32>) -> tensor<4x40xf32>
  // CHECK: tandem.reshape {{.*}}[{"dp"}, {"tp"}]{{.*}} -> tensor<2x12xf32>
  %1 = tandem.reshape %y : (tensor<24xf32>) -> tensor<2x12xf32>
  // CHECK: tandem.reshape {{.*}}[{}, {}]{{.*}} -> tensor<3x3xf32>
  %2 = tandem.reshape %z : (tensor<9xf32>) -> tensor<3x3xf32>
  return %0, %1, %2 : tensor<4x40xf32>, tensor<2x12xf32>, tensor<3x3xf32>
}

// What is open in a constraint takes what comes.
// CHECK-LABEL: func.func @constraint(
func.func @constraint(%x: tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x8xf32> {
  // CHECK: tandem.sharding_constraint {{.*}}tandem.shardings = [#tandem.sharding<@mesh, [{"tp"}, {"dp"}]>]
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{?}, {"dp"}]>} : tensor<8x8xf32>
  // CHECK: tandem.unary exp, {{.*}}[{"tp"}, {"dp"}]
  %1 = tandem.unary exp, %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// A state lies as what replaces it does.
// CHECK-LABEL: func.func @state(
// CHECK-SAME:    tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>, tandem.state = "s"
func.func @state(%w: tensor<8x8xf32> {tandem.parameter = #tandem.view<"w">, tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                 %s: tensor<8x8xf32> {tandem.state = "s", tandem.aliases = 0 : i64}) -> (tensor<8x8xf32>) {
  %0 = tandem.sum %w, %s : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

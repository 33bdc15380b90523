// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards 2>/dev/null | FileCheck %s

tandem.mesh @mesh = <["dp"=2, "tp"=2]>

// A row-parallel product is unreduced; the residual is added behind the one
// reduction.
// CHECK-LABEL: func.func @row
func.func @row(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
               %w: tensor<8x6xf32>, %r: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[P:.*]] = tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{}, {}], unreduced={"tp"}>]
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: %[[R:.*]] = tandem.reshard %[[P]] {cause = "reduction of einsum", sharding = #tandem.sharding<@mesh, [{}, {}]>}
  // CHECK-NEXT: tandem.sum %[[R]], %{{.*}} {tandem.shardings = [#tandem.sharding<@mesh, [{}, {}]>]}
  %1 = tandem.sum %0, %r : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// Reductions wait through what is linear: two products and a scale are added
// before one reduction.
// CHECK-LABEL: func.func @waiting
func.func @waiting(%a: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                   %b: tensor<8x6xf32>, %c: tensor<8x6xf32>, %s: tensor<f32>,
                   %r: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[A:.*]] = tandem.einsum {{.*}}unreduced={"tp"}
  %0 = tandem.einsum "bd,df->bf" %a, %b : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  // CHECK: %[[B:.*]] = tandem.einsum {{.*}}unreduced={"tp"}
  %1 = tandem.einsum "bd,df->bf" %a, %c : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = tandem.broadcast_in_dim %s [] : (tensor<f32>) -> tensor<4x6xf32>
  // CHECK: %[[M:.*]] = tandem.binary mul, %[[B]], {{.*}}unreduced={"tp"}
  %3 = tandem.binary mul, %1, %2 : tensor<4x6xf32>
  // CHECK-NEXT: %[[S:.*]] = tandem.sum %[[A]], %[[M]] {{.*}}unreduced={"tp"}
  // CHECK-NEXT: %[[R:.*]] = tandem.reshard %[[S]] {cause = "reduction of sum"
  // CHECK-NEXT: tandem.sum %[[R]], %{{.*}}[#tandem.sharding<@mesh, [{}, {}]>]
  %4 = tandem.sum %r, %0, %3 : tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// What is not linear does not wait.
// CHECK-LABEL: func.func @impatient
func.func @impatient(%a: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                     %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
  // CHECK: tandem.einsum
  // CHECK-NEXT: %[[R:.*]] = tandem.reshard {{.*}}"reduction of einsum"
  // CHECK-NEXT: tandem.gelu %[[R]]
  %0 = tandem.einsum "bd,df->bf" %a, %b : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = tandem.gelu %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// A value is brought to one layout once, however many want it.
// CHECK-LABEL: func.func @once
// CHECK:         tandem.reshard
// CHECK-NOT:     tandem.reshard
// CHECK:         return
func.func @once(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{}, {}]>} : tensor<4x8xf32>
  %1 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{}, {}]>} : tensor<4x8xf32>
  %2 = tandem.unary exp, %0 : tensor<4x8xf32>
  %3 = tandem.unary neg, %1 : tensor<4x8xf32>
  return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Of two factors that claim one axis, the one that costs fewer bytes has it:
// the 64 bytes of %x are gathered, where the weight would be 256.
// CHECK-LABEL: func.func @claimed
func.func @claimed(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                   %w: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x16xf32> {
  // CHECK: tandem.reshard %arg0 {cause = "einsum operand", sharding = #tandem.sharding<@mesh, [{}, {}]>}
  // CHECK: tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{}, {"tp"}]>]
  // CHECK-NEXT: return
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// A split choice is made from each piece's candidates; the values and indices
// are gathered, the logits never.
// CHECK-LABEL: func.func @choose
func.func @choose(%x: tensor<2x10xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) -> (tensor<2x1xf32>, tensor<2x1xi32>) {
  // CHECK: %[[V:.*]], %[[I:.*]] = tandem.top_k %arg0 {pieces = 2 : i64, {{.*}}[{}, {"tp"}]>, #tandem.sharding<@mesh, [{}, {"tp"}]>]} : (tensor<2x10xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  // CHECK: tandem.reshard %[[I]] {cause = "top_k operand"
  // CHECK: tandem.reshard %[[V]] {cause = "top_k operand"
  // CHECK: tandem.top_k {{.*}} payload {{.*}} -> (tensor<2x1xf32>, tensor<2x1xi32>)
  %v, %i = tandem.top_k %x : (tensor<2x10xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  return %v, %i : tensor<2x1xf32>, tensor<2x1xi32>
}

// Every rank has all of a constant that is no splat, and takes its piece; of a
// splat it makes the piece.
// CHECK-LABEL: func.func @constants
func.func @constants() -> (tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>},
                           tensor<4xi32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>}) {
  // CHECK: tandem.constant {tandem.shardings = [#tandem.sharding<@mesh, [{}]>]}
  // CHECK: tandem.reshard {{.*}}"output"
  %0 = tandem.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  // CHECK: tandem.constant {tandem.shardings = [#tandem.sharding<@mesh, [{"tp"}]>]} dense<7>
  %1 = tandem.constant dense<7> : tensor<4xi32>
  return %0, %1 : tensor<4xf32>, tensor<4xi32>
}

// An argument that is unreduced is reduced before its first use.
// CHECK-LABEL: func.func @unreduced
func.func @unreduced(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}], unreduced={"tp"}>}) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[X:.*]] = tandem.reshard %arg0 {cause = "reduction of an argument", sharding = #tandem.sharding<@mesh, [{}, {}]>}
  // CHECK-NEXT: tandem.unary exp, %[[X]]
  %0 = tandem.unary exp, %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @layers
func.func @layers(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                  %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  // A reshard belongs to the layer and stage of what it reshards.
  // CHECK: tandem.reshard {{.*}}tandem.layer = 3 : i64, tandem.stage = 1 : i64
  %0 = tandem.einsum "bd,df->bf" %x, %w {tandem.layer = 3 : i64, tandem.stage = 1 : i64} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

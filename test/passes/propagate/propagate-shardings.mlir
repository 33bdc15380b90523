// RUN: tandem-opt %s --tandem-propagate-shardings -split-input-file 2>/dev/null | FileCheck %s

// Columns of one weight make rows of the next; what sums is unreduced
// until somebody needs it.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @mlp(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: %{{.*}}: tensor<16x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}
// CHECK-SAME: -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>})
func.func @mlp(%x: tensor<4x8xf32>,
               %up: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
               %down: tensor<16x8xf32>) -> tensor<4x8xf32> {
  // CHECK: tandem.einsum "bd,df->bf" {{.*}}tandem.shardings = [#tandem.sharding<@mesh, [{}, {"tp"}]>]}
  %0 = tandem.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK: tandem.einsum "bf,fd->bd" {{.*}}tandem.shardings = [#tandem.sharding<@mesh, [{}, {}], unreduced={"tp"}>]}
  %1 = tandem.einsum "bf,fd->bd" %0, %down : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A constraint reaches what lies in front of it.
tandem.mesh @mesh = <["dp"=2, "tp"=2]>
// CHECK-LABEL: func.func @constrained(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>}
func.func @constrained(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tandem.unary exp, %x : tensor<4x8xf32>
  %1 = tandem.sharding_constraint %0 {sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>} : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A parameter of two entries is one value.
tandem.mesh @mesh = <["tp"=2]>
func.func @prefill(%w: tensor<8x8xf32> {tandem.parameter = #tandem.view<"w">, tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) {
  return
}
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>
func.func @decode(%w: tensor<8x8xf32> {tandem.parameter = #tandem.view<"w">}) {
  return
}

// -----

// Two rows on three ranks: splitting o would have all three at work, but the
// gradient is wanted unreduced, behind an operation that hands that on.
tandem.mesh @mesh = <["dp"=3]>
// CHECK-LABEL: func.func @few_rows(
// CHECK: tandem.einsum "bo,bi->oi" {{.*}}tandem.shardings = [#tandem.sharding<@mesh, [{}, {}], unreduced={"dp"}>]}
func.func @few_rows(%x: tensor<2x9xf32> {tandem.input = "x", tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>},
                    %y: tensor<2x6xf32> {tandem.input = "y", tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<9x1x6xf32> {tandem.output = "z", tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  %g = tandem.einsum "bo,bi->oi" %x, %y : (tensor<2x9xf32>, tensor<2x6xf32>) -> tensor<9x6xf32>
  %h = tandem.broadcast_in_dim %g [0, 2] : (tensor<9x6xf32>) -> tensor<9x1x6xf32>
  %c = tandem.sharding_constraint %h {sharding = #tandem.sharding<@mesh, [{}, {}, {}], unreduced={"dp"}>} : tensor<9x1x6xf32>
  %e = tandem.unary neg, %c : tensor<9x1x6xf32>
  return %e : tensor<9x1x6xf32>
}

// -----

// What is unreduced over the same axes is added first, each group on its own.
tandem.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @norms(
// CHECK: tandem.sum {{.*}}tandem.choice = {factors = [], first = array<i32: 0, 1, 2, 3>, unreduced = [#tandem.axes<"x">, #tandem.axes<"x">, #tandem.axes<"x", "y">, #tandem.axes<"x", "y">]}
func.func @norms(%a: tensor<4x4xf32> {tandem.input = "a", tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {}]>},
                 %b: tensor<4x4xf32> {tandem.input = "b", tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<f32> {tandem.output = "n"}) {
  %0 = tandem.einsum "ij,ij->" %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %1 = tandem.einsum "ij,ij->" %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %2 = tandem.einsum "ij,ij->" %b, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %3 = tandem.einsum "ij,ij->" %b, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %4 = tandem.sum %0, %1, %2, %3 : tensor<f32>
  return %4 : tensor<f32>
}

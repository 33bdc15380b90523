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

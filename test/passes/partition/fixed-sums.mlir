// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards --tandem-partition-module --tandem-combine-collectives 2>/dev/null | FileCheck %s

// Where no layout may change a bit, each sum is brought together where it is
// made: two products, two reductions.
module attributes {tandem.layout_invariant = 2 : i64} {
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @each
// CHECK: %[[A:.*]] = tandem.einsum
// CHECK: %[[RA:.*]] = tandem.all_reduce %[[A]]
// CHECK: %[[B:.*]] = tandem.einsum
// CHECK: %[[RB:.*]] = tandem.all_reduce %[[B]]
// CHECK: tandem.sum %[[RA]], %[[RB]]
func.func @each(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                %v: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                %w: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<4x6xf32> {
  %0 = tandem.einsum "bd,df->bf" %x, %v : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = tandem.sum %0, %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}
}

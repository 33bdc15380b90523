// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards -split-input-file 2>/dev/null | FileCheck %s

// A product over split rows leaves partial sums; they are brought together
// where the result has to be whole.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @row
func.func @row(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
               %w: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[P:.*]] = tandem.einsum {{.*}}unreduced={"tp"}
  // CHECK: %[[R:.*]] = tandem.reshard %[[P]] {{.*}}#tandem.sharding<@mesh, [{}, {}]>
  // CHECK: return %[[R]]
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// Of a sum, terms that are partial are added first and reduced once.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @waiting
// CHECK-COUNT-2: tandem.einsum
// CHECK: tandem.sum
// CHECK: tandem.reshard
// CHECK-NOT: tandem.reshard
// CHECK: return
func.func @waiting(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                   %w: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}) {
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = tandem.sum %0, %1 : tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// -----

// Where layouts agree nothing is inserted.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @column
// CHECK-NOT: tandem.reshard
func.func @column(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>},
                  %w: tensor<8x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x6xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) {
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// RUN: tandem-opt %s --tandem-partition-module -split-input-file | FileCheck %s

// A whole result of a split argument is one gather, with its cause.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {}]>>
// CHECK: tandem.all_gather %{{.*}} over <"tp"> dim 0 cause "output"
func.func @gather(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}) {
  %0 = tandem.reshard %x {sharding = #tandem.sharding<@mesh, [{}, {}]>, cause = "output"} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// What does not divide has the capacity of the fullest rank: 5 over 2 is 3.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @uneven(
// CHECK-SAME: tensor<3x8xf32, #tandem.local<[5, 8], @mesh, [{"tp"}, {}]>>
func.func @uneven(%x: tensor<5x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<5x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) {
  // CHECK: tandem.unary  exp{{.*}} : tensor<3x8xf32
  %0 = tandem.unary exp, %x {tandem.shardings = [#tandem.sharding<@mesh, [{"tp"}, {}]>]} : tensor<5x8xf32>
  return %0 : tensor<5x8xf32>
}

// -----

// From one dimension to the other is one all_to_all, not a gather and a slice.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @turn
// CHECK-NOT: tandem.all_gather
// CHECK: tandem.all_to_all
func.func @turn(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) {
  %0 = tandem.reshard %x {sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>, cause = "operand"} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

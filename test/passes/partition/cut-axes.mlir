// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards | FileCheck %s

// Ten rows in four pieces: 3, 3, 3, 1; in two and two again: 3, 2, 3, 2.
tandem.mesh @mesh = <["tp"=4]>
// CHECK-LABEL: func.func @cut
// CHECK: tandem.reshard
// CHECK: tandem.sum
#whole = #tandem.sharding<@mesh, [{"tp"}, {}]>
#cut = #tandem.sharding<@mesh, [{"tp":(1)2, "tp":(2)2}, {}]>
func.func @cut(%x: tensor<10x4xf32> {tandem.sharding = #cut}, %y: tensor<10x4xf32> {tandem.sharding = #whole}) -> (tensor<10x4xf32> {tandem.sharding = #whole}) {
  %0 = tandem.sum %x, %y : tensor<10x4xf32>
  return %0 : tensor<10x4xf32>
}

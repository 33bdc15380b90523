// RUN: tandem-opt %s --tandem-verify-phase=phase=1 | FileCheck %s

// A module that is what its phase may hold is left as it was; what depends on
// constants alone needs no layer.
// CHECK-LABEL: func.func @f
// CHECK: tandem.constant
// CHECK: tandem.unary
// CHECK: tandem.sum
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tandem.constant dense<1.0> : tensor<4xf32>
  %1 = tandem.unary exp, %0 : tensor<4xf32>
  %2 = tandem.sum %1, %x {tandem.layer = 0 : i64} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

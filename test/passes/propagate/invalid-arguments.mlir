// RUN: tandem-opt %s --tandem-propagate-shardings -split-input-file -verify-diagnostics

tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{argument 0 is 'i32', expected a tensor of static sizes and an element type that plans know}}
func.func @scalar(%x: i32) -> i32 {
  return %x : i32
}

// -----

tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{argument 0 is 'tensor<?xf32>', expected a tensor of static sizes and an element type that plans know}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{argument 0 is 'tensor<4xcomplex<f32>>', expected a tensor of static sizes and an element type that plans know}}
func.func @element(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  return %x : tensor<4xcomplex<f32>>
}

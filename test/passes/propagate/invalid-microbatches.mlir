// RUN: tandem-opt %s --tandem-propagate-shardings --split-input-file --verify-diagnostics

tandem.mesh @mesh = <["dp"=2]>
// What the body reads is there before the last microbatch ends.
func.func @late(%x: tensor<2x4xf32> {tandem.input = "x"}) -> tensor<4xf32> {
  %0 = tandem.microbatch %x : (tensor<2x4xf32>) -> tensor<4xf32>
  %1 = tandem.accumulate %0 : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{reads a sum over all microbatches, expected a value that is there before the last one ends}}
  %2 = tandem.accumulate %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

tandem.mesh @mesh = <["dp"=2]>
func.func @unequal(%x: tensor<2x4xf32> {tandem.input = "x"},
                   %y: tensor<3x4xf32> {tandem.input = "y"}) -> tensor<4xf32> {
  // expected-error@+1 {{has 2 microbatches, another has 3}}
  %0 = tandem.microbatch %x : (tensor<2x4xf32>) -> tensor<4xf32>
  %1 = tandem.microbatch %y : (tensor<3x4xf32>) -> tensor<4xf32>
  %2 = tandem.sum %0, %1 : tensor<4xf32>
  %3 = tandem.accumulate %2 : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

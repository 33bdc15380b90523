// RUN: tandem-opt %s --tandem-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{has 'tandem.differentiate' and no result with 'tandem.output' "loss"}}
func.func @no_loss(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<4xf32> {tandem.output = "logits"}, tensor<4xf32>)
    attributes {tandem.differentiate} {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{result 0 'loss' is 'tensor<4xf32>', expected a float without dimensions}}
func.func @not_a_number(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<4xf32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 'loss' is 'tensor<i32>', expected a float without dimensions}}
func.func @an_integer(%w: tensor<f32> {tandem.parameter = #tandem.view<"w">},
                      %n: tensor<i32> {tandem.input = "n"})
    -> (tensor<i32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  return %n : tensor<i32>
}

// -----

// expected-error @below {{has 'tandem.differentiate' and no parameter of floats to differentiate for}}
func.func @no_parameter(%w: tensor<i32> {tandem.parameter = #tandem.view<"w">},
                        %x: tensor<f32> {tandem.input = "x"})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{has 'tandem.differentiate' and no body of one block}}
func.func private @elsewhere(tensor<f32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate}

// -----

func.func @no_derivative(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  // expected-error @below {{'tandem.reshard' op has no derivative, and the loss depends on a parameter through it}}
  %0 = tandem.reshard %w {sharding = #tandem.sharding<@mesh, [{}]>, cause = "test"} : tensor<4xf32>
  %1 = tandem.reduce sum, %0 [0] : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
tandem.mesh @mesh = <["tp"=2]>

// -----

func.func @square_of_the_sum(%x: tensor<3x4xf32> {tandem.input = "x"},
                             %w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %m = tandem.microbatch %x : (tensor<3x4xf32>) -> tensor<4xf32>
  %0 = tandem.einsum "d,d->" %m, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{has a gradient that depends on a sum over all microbatches, which is known behind the last one only; expected a loss that is linear in such sums}}
  // expected-note @below {{the gradient depends on this sum}}
  %1 = tandem.accumulate %0 : (tensor<f32>) -> tensor<f32>
  %2 = tandem.binary mul, %1, %1 : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Through the parts of a step that are no body too.
func.func @sum_within(%x: tensor<3x4xf32> {tandem.input = "x"},
                      %w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %m = tandem.microbatch %x : (tensor<3x4xf32>) -> tensor<4xf32>
  // expected-note @below {{the gradient depends on this sum}}
  %s = tandem.accumulate %m : (tensor<4xf32>) -> tensor<4xf32>
  %0 = tandem.binary mul, %m, %w : tensor<4xf32>
  // expected-error @below {{has a gradient that depends on a sum over all microbatches}}
  %1 = tandem.accumulate %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tandem.einsum "d,d->" %1, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// RUN: tandem-opt %s --tandem-add-optimizer --split-input-file --verify-diagnostics

// expected-error@+1 {{attribute 'tandem.optimizer' is "lion", expected "adamw" or "sgd"}}
func.func @unknown() attributes {tandem.optimizer = "lion"} {
  return
}

// -----

// expected-error@+1 {{has no gradients to follow; run tandem-differentiate first}}
func.func @nothing(%b: tensor<2xf32> {tandem.parameter = #tandem.view<"b">})
    -> tensor<2xf32> attributes {tandem.optimizer = "sgd"} {
  return %b : tensor<2xf32>
}

// -----

// expected-error@+1 {{result 0 is the gradient of #tandem.view<"c">, expected that of a parameter}}
func.func @stranger(%b: tensor<2xf32> {tandem.parameter = #tandem.view<"b">})
    -> (tensor<2xf32> {tandem.gradient = #tandem.view<"c">})
    attributes {tandem.optimizer = "sgd"} {
  return %b : tensor<2xf32>
}

// -----

// expected-error@+1 {{argument 0 is trained and of 'bf16', expected f32; cast it where it is used}}
func.func @half(%b: tensor<2xbf16> {tandem.parameter = #tandem.view<"b">})
    -> (tensor<2xbf16> {tandem.gradient = #tandem.view<"b">})
    attributes {tandem.optimizer = "sgd"} {
  return %b : tensor<2xbf16>
}

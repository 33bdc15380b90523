// RUN: tandem-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'func.func' op argument 0 'tandem.state': expected a name, got 5 : i64}}
func.func @state(%x: tensor<4xf32> {tandem.state = 5 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.input': expected a name, got 5 : i64}}
func.func private @input(%x: tensor<4xf32> {tandem.input = 5 : i64}) -> tensor<4xf32>

// -----

// expected-error @below {{'func.func' op result 0 'tandem.output': expected a name, got unit}}
func.func @output(%x: tensor<4xf32>) -> (tensor<4xf32> {tandem.output}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.aliases': expected a result of type 'tensor<4xf32>', result 0 is 'tensor<8x3xf32>'}}
func.func @aliases(%x: tensor<4xf32> {tandem.state = "s", tandem.aliases = 0 : i64}, %y: tensor<8x3xf32>) -> tensor<8x3xf32> {
  return %y : tensor<8x3xf32>
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.sharding': expected a sharding, got 3 : i32}}
func.func @sharding(%x: tensor<4xf32> {tandem.sharding = 3 : i32}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op result 0 'tandem.sharding': expected a sharding, got "tp"}}
func.func @sharding(%x: tensor<4xf32>) -> (tensor<4xf32> {tandem.sharding = "tp"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.initial': expected array<f64: mean, deviation>, the deviation at least 0, got array<f64: 0.000000e+00, -1.000000e+00>}}
func.func @negative_deviation(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">, tandem.initial = array<f64: 0.0, -1.0>}) {
  return
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.initial': expected array<f64: mean, deviation>, the deviation at least 0, got "ones"}}
func.func @no_numbers(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">, tandem.initial = "ones"}) {
  return
}

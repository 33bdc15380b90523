// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// unary 1: the element type suits the function.
func.func @unary_integer(%x: tensor<4xi32>) {
  // expected-error @below {{'tandem.unary' op kind exp takes floats, got 'i32'}}
  %0 = tandem.unary exp, %x : tensor<4xi32>
  return
}

// -----

func.func @unary_bool(%x: tensor<4xi1>) {
  // expected-error @below {{'tandem.unary' op kind neg takes floats or integers, got 'i1'}}
  %0 = tandem.unary neg, %x : tensor<4xi1>
  return
}

// -----

func.func @unary_not(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.unary' op kind not takes i1, got 'f32'}}
  %0 = tandem.unary not, %x : tensor<4xf32>
  return
}

// -----

func.func @unary_kind(%x: tensor<4xf32>) {
  // expected-error @+2 {{failed to parse Tandem_UnaryKindAttr parameter 'value' which is to be a `::tandem::UnaryKind`}}
  // expected-error @+1 {{expected one of [neg, abs, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, relu, sin, cos, reciprocal, floor, not] for elementwise functions of one operand, got: add}}
  %0 = tandem.unary add, %x : tensor<4xf32>
  return
}

// -----

// binary 1: `and` and `or` take i1, the others numbers.
func.func @binary_and(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.binary' op kind and takes i1, got 'f32'}}
  %0 = tandem.binary and, %x, %x : tensor<4xf32>
  return
}

// -----

func.func @binary_mul(%x: tensor<4xi1>) {
  // expected-error @below {{'tandem.binary' op kind mul takes floats or integers, got 'i1'}}
  %0 = tandem.binary mul, %x, %x : tensor<4xi1>
  return
}

// -----

// binary 2: operands and result have one global shape and element type.
func.func @binary_shape(%x: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error @below {{'tandem.binary' op rhs has shape [1], expected [4]}}
  %0 = tandem.binary mul, %x, %y : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @binary_lhs_shape(%x: tensor<1xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'tandem.binary' op lhs has shape [1], expected [4]}}
  %0 = tandem.binary mul, %x, %y : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @binary_type(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error @below {{'tandem.binary' op rhs has element type 'bf16', expected 'f32'}}
  %0 = tandem.binary mul, %x, %y : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}

// -----

func.func @binary_lhs_type(%x: tensor<4xbf16>, %y: tensor<4xf32>) {
  // expected-error @below {{'tandem.binary' op lhs has element type 'bf16', expected 'f32'}}
  %0 = tandem.binary mul, %x, %y : (tensor<4xbf16>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @binary_types(%x: tensor<4xf32>) {
  // expected-error @below {{expected two operands and one result}}
  %0 = tandem.binary mul, %x, %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// compare 1: the result has the operands' shape.
func.func @compare_shape(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.compare' op result has shape [5], expected [4]}}
  %0 = tandem.compare lt, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

// select 1: the condition has the result's shape.
func.func @select_shape(%m: tensor<1xi1>, %x: tensor<4xf32>) {
  // expected-error @below {{'tandem.select' op condition has shape [1], expected [4]}}
  %0 = tandem.select %m, %x, %x : (tensor<1xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// cast 1: the result has the operand's shape.
func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.cast' op result has shape [2, 2], expected [4]}}
  %0 = tandem.cast %x : (tensor<4xf32>) -> tensor<2x2xbf16>
  return
}

// -----

// sum 1: there is at least one operand.
func.func @sum_of_none() {
  // expected-error @below {{'tandem.sum' op expected 1 or more operands, but found 0}}
  %0 = "tandem.sum"() : () -> tensor<4xf32>
  return
}

// -----

// sum 2: operands have the result's type.
func.func @sum_types(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{'tandem.sum' op requires the same type for all operands and results}}
  %0 = "tandem.sum"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gelu_integer(%x: tensor<4xi32>) {
  // expected-error @below {{'tandem.gelu' op operand #0 must be tensor of known sizes and floats, but got 'tensor<4xi32>'}}
  %0 = tandem.gelu %x : tensor<4xi32>
  return
}

// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// einsum 1: the equation has one group of distinct letters for each operand.
func.func @einsum_no_arrow(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.einsum' op equation 'ab': expected '->' between operands and result}}
  %0 = tandem.einsum "ab" %x : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_repeated_letter(%x: tensor<4x4xf32>) {
  // expected-error @below {{'tandem.einsum' op equation 'aa->a': letter 'a' stands twice in 'aa'}}
  %0 = tandem.einsum "aa->a" %x : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_no_letter(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.einsum' op equation '1->1': '1' is no letter}}
  %0 = tandem.einsum "1->1" %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_unknown_result_letter(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.einsum' op equation 'a->ab': letter 'b' of the result is in no operand}}
  %0 = tandem.einsum "a->ab" %x : (tensor<4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @einsum_operand_count(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.einsum' op equation has 2 operands, expected 1}}
  %0 = tandem.einsum "a,b->ab" %x : (tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @einsum_no_operand() {
  // expected-error @below {{'tandem.einsum' op equation has 1 operands, expected 0}}
  %0 = tandem.einsum "->" : () -> tensor<f32>
  return
}

// -----

// einsum 2: each group has as many letters as its tensor has dimensions.
func.func @einsum_letter_count(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.einsum' op equation has 1 letters for operand 0, expected 2}}
  %0 = tandem.einsum "a->a" %x : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @einsum_result_letter_count(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.einsum' op equation has 1 letters for result, expected 2}}
  %0 = tandem.einsum "ab->a" %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// einsum 3: a letter has one size.
func.func @einsum_letter_size(%x: tensor<4x8xf32>, %w: tensor<7x3xf32>) {
  // expected-error @below {{'tandem.einsum' op letter 'b' has size 7 in operand 1, expected 8}}
  %0 = tandem.einsum "ab,bc->ac" %x, %w : (tensor<4x8xf32>, tensor<7x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @einsum_result_letter_size(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.einsum' op letter 'a' has size 5 in result, expected 4}}
  %0 = tandem.einsum "ab->a" %x : (tensor<4x8xf32>) -> tensor<5xf32>
  return
}

// -----

// reduce 1: dimensions are in range and ascending.
func.func @reduce_range(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.reduce' op dims entry is 2, expected 0 to 1}}
  %0 = tandem.reduce sum, %x [2] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.reduce' op dims are [1, 0], expected ascending ones}}
  %0 = tandem.reduce sum, %x [1, 0] : (tensor<4x8xf32>) -> tensor<f32>
  return
}

// -----

// reduce 2: the result has the dimensions that remain.
func.func @reduce_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.reduce' op result has shape [8], expected [4]}}
  %0 = tandem.reduce sum, %x [1] : (tensor<4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @reduce_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.reduce' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.reduce sum, %x [1] : (tensor<4x8xf32>) -> tensor<4xf64>
  return
}

// -----

// cumulative_sum 1: `dim` is in range.
func.func @cumulative_sum_range(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.cumulative_sum' op dim is -1, expected 0 to 1}}
  %0 = tandem.cumulative_sum %x {dim = -1 : i64} : tensor<4x8xf32>
  return
}

// -----

// All operations: sizes are known and elements have a type that plans know.
func.func @dynamic_size(%x: tensor<?xf32>) {
  // expected-error @below {{'tandem.unary' op operand #0 must be tensor of known sizes, but got 'tensor<?xf32>'}}
  %0 = tandem.unary exp, %x : tensor<?xf32>
  return
}

// -----

func.func @odd_integer(%x: tensor<4xi7>) {
  // expected-error @below {{'tandem.unary' op operand #0 must be tensor of known sizes, but got 'tensor<4xi7>'}}
  %0 = tandem.unary neg, %x : tensor<4xi7>
  return
}

// -----

func.func @no_tensor(%x: f32) {
  // expected-error @below {{invalid kind of type specified: expected builtin.tensor, but found 'f32'}}
  %0 = tandem.unary neg, %x : f32
  return
}

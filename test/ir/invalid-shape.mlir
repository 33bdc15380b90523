// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// constant 1: the value has the result's element type and global shape.
tandem.mesh @mesh = <["tp"=2]>
func.func @constant_shape() {
  // expected-error @below {{'tandem.constant' op result has shape [6], expected [4]}}
  %0 = tandem.constant dense<0> : tensor<4xi32> -> tensor<3xi32, #tandem.local<[6], @mesh, [{"tp"}]>>
  return
}

// -----

func.func @constant_type() {
  // expected-error @below {{'tandem.constant' op result has element type 'i64', expected 'i32'}}
  %0 = tandem.constant dense<0> : tensor<4xi32> -> tensor<4xi64>
  return
}

// -----

// iota 1: `dim` is in range.
func.func @iota_range() {
  // expected-error @below {{'tandem.iota' op dim is 1, expected 0 to 0}}
  %0 = tandem.iota {dim = 1 : i64} : tensor<4xi32>
  return
}

// -----

// reshape 1: element types and counts agree.
func.func @reshape_count(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.reshape' op result has 25 elements, expected 24}}
  %0 = tandem.reshape %x : (tensor<4x6xf32>) -> tensor<25xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.reshape' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.reshape %x : (tensor<4x6xf32>) -> tensor<24xf64>
  return
}

// -----

// transpose 1: `permutation` is one.
func.func @transpose_twice(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.transpose' op permutation is [0, 0], expected each of 0 to 1 once}}
  %0 = tandem.transpose %x [0, 0] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @transpose_range(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.transpose' op permutation is [0, 2], expected each of 0 to 1 once}}
  %0 = tandem.transpose %x [0, 2] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @transpose_count(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.transpose' op permutation is [0], expected each of 0 to 1 once}}
  %0 = tandem.transpose %x [0] : (tensor<4x6xf32>) -> tensor<4xf32>
  return
}

// -----

// transpose 2: result dimension i has the size of dimension permutation[i].
func.func @transpose_shape(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.transpose' op result has shape [4, 6], expected [6, 4]}}
  %0 = tandem.transpose %x [1, 0] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @transpose_type(%x: tensor<4x6xf32>) {
  // expected-error @below {{'tandem.transpose' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.transpose %x [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf64>
  return
}

// -----

// broadcast_in_dim 1: `dims` has one ascending entry for each operand
// dimension, in range.
func.func @broadcast_count(%x: tensor<8xf32>) {
  // expected-error @below {{'tandem.broadcast_in_dim' op dims has 2 entries, expected 1}}
  %0 = tandem.broadcast_in_dim %x [0, 1] : (tensor<8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @broadcast_range(%x: tensor<8xf32>) {
  // expected-error @below {{'tandem.broadcast_in_dim' op dims entry is 2, expected 0 to 1}}
  %0 = tandem.broadcast_in_dim %x [2] : (tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<8x8xf32>) {
  // expected-error @below {{'tandem.broadcast_in_dim' op dims are [1, 0], expected ascending ones}}
  %0 = tandem.broadcast_in_dim %x [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// broadcast_in_dim 2: sizes agree along them.
func.func @broadcast_size(%x: tensor<8xf32>) {
  // expected-error @below {{'tandem.broadcast_in_dim' op result dimension 0 has size 2, expected 8}}
  %0 = tandem.broadcast_in_dim %x [0] : (tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @broadcast_type(%x: tensor<8xf32>) {
  // expected-error @below {{'tandem.broadcast_in_dim' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.broadcast_in_dim %x [1] : (tensor<8xf32>) -> tensor<2x8xf64>
  return
}

// -----

// slice 1: one start and step for each dimension; steps at least 1.
func.func @slice_count(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.slice' op start has 1 and step has 2 entries, expected 2}}
  %0 = tandem.slice %x [0] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.slice' op result has 1 dimensions, expected 2}}
  %0 = tandem.slice %x [0, 0] step [1, 1] : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.slice' op step of dimension 1 is 0, expected at least 1}}
  %0 = tandem.slice %x [0, 0] step [1, 0] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_start(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.slice' op start of dimension 0 is -1, expected at least 0}}
  %0 = tandem.slice %x [-1, 0] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return
}

// -----

// slice 2: the last index is in range.
func.func @slice_last(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.slice' op last index of dimension 1 is 8, expected less than 8}}
  %0 = tandem.slice %x [0, 2] step [1, 3] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.slice' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.slice %x [0, 2] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf64>
  return
}

// -----

// concat 1: at least one operand; `dim` in range.
func.func @concat_none() {
  // expected-error @below {{'tandem.concat' op has no operands, expected at least one}}
  %0 = "tandem.concat"() {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_range(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.concat' op dim is 2, expected 0 to 1}}
  %0 = tandem.concat %x, %x {dim = 2 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// concat 2: sizes agree but along `dim`, where they add up.
func.func @concat_sizes(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error @below {{'tandem.concat' op operand 1 has shape [4, 7], expected [4, 8]}}
  %0 = tandem.concat %x, %y {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'tandem.concat' op operand 1 has shape [4], expected [4, 8]}}
  %0 = tandem.concat %x, %y {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @concat_total(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.concat' op result has shape [9, 8], expected [8, 8]}}
  %0 = tandem.concat %x, %x {dim = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<9x8xf32>
  return
}

// -----

func.func @concat_operand_type(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{'tandem.concat' op operand 1 has element type 'f64', expected 'f32'}}
  %0 = tandem.concat %x, %y {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf64>) -> tensor<8xf32>
  return
}

// -----

func.func @concat_type(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.concat' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.concat %x, %x {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf64>
  return
}

// -----

// pad 1: one low and high for each dimension, none negative.
func.func @pad_count(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.pad' op low has 1 and high has 2 entries, expected 2}}
  %0 = tandem.pad %x low [0] high [0, 2] value 0.0 : (tensor<4x8xf32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.pad' op dimension 1 has low -1 and high 2, expected none below 0}}
  %0 = tandem.pad %x low [0, -1] high [0, 2] value 0.0 : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

// pad 2: result sizes are low + size + high.
func.func @pad_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tandem.pad' op result has shape [4, 10], expected [4, 11]}}
  %0 = tandem.pad %x low [0, 1] high [0, 2] value 0.0 : (tensor<4x8xf32>) -> tensor<4x10xf32>
  return
}

// -----

func.func @pad_type(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.pad' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.pad %x low [0] high [0] value 0.0 : (tensor<4xf32>) -> tensor<4xf64>
  return
}

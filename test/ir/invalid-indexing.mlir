// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// embedding 1: the table has two dimensions.
func.func @embedding_table(%t: tensor<101xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.embedding' op table has 1 dimensions, expected 2}}
  %0 = tandem.embedding %t, %i : (tensor<101xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

// embedding 2: the result's shape is that of the ids and then the row's.
func.func @embedding_shape(%t: tensor<101x8xf32>, %i: tensor<2x3xi32>) {
  // expected-error @below {{'tandem.embedding' op result has shape [2, 8], expected [2, 3, 8]}}
  %0 = tandem.embedding %t, %i : (tensor<101x8xf32>, tensor<2x3xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @embedding_ids(%t: tensor<101x8xf32>, %i: tensor<2x3xf32>) {
  // expected-error @below {{'tandem.embedding' op operand #1 must be tensor of known sizes and integers, but got 'tensor<2x3xf32>'}}
  %0 = tandem.embedding %t, %i : (tensor<101x8xf32>, tensor<2x3xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

// gather 1: `dim` equals `batch_dims`, both in range.
func.func @gather_range(%x: tensor<2x5xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.gather' op dim is 2, expected 0 to 1}}
  %0 = tandem.gather %x, %i {dim = 2 : i64, batch_dims = 2 : i64} : (tensor<2x5xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_batch_dims(%x: tensor<2x5xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.gather' op batch_dims is 0, expected dim, 1}}
  %0 = tandem.gather %x, %i {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<2x5xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_few_indices(%x: tensor<2x5xf32>, %i: tensor<i32>) {
  // expected-error @below {{'tandem.gather' op batch_dims is 1, expected at most the indices' 0 dimensions}}
  %0 = tandem.gather %x, %i {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x5xf32>, tensor<i32>) -> tensor<f32>
  return
}

// -----

// gather 2: batch sizes agree.
func.func @gather_batch(%x: tensor<2x5xf32>, %i: tensor<3xi32>) {
  // expected-error @below {{'tandem.gather' op indices' dimension 0 has size 3, expected 2}}
  %0 = tandem.gather %x, %i {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x5xf32>, tensor<3xi32>) -> tensor<3xf32>
  return
}

// -----

// gather 3: the result has the batch, index and remaining dimensions.
func.func @gather_shape(%x: tensor<2x5x8xf32>, %i: tensor<2x3xi32>) {
  // expected-error @below {{'tandem.gather' op result has shape [2, 8], expected [2, 3, 8]}}
  %0 = tandem.gather %x, %i {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x5x8xf32>, tensor<2x3xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @gather_type(%x: tensor<5xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.gather' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.gather %x, %i {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<5xf32>, tensor<2xi32>) -> tensor<2xf64>
  return
}

// -----

// scatter_add 1: `gather` of the result with these attributes has the rows'
// shape.
func.func @scatter_add_rows(%x: tensor<5x8xf32>, %i: tensor<2xi32>, %r: tensor<3x8xf32>) {
  // expected-error @below {{'tandem.scatter_add' op rows has shape [3, 8], expected [2, 8]}}
  %0 = tandem.scatter_add %x, %i, %r {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<5x8xf32>, tensor<2xi32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @scatter_add_type(%x: tensor<5x8xf32>, %i: tensor<2xi32>, %r: tensor<2x8xf64>) {
  // expected-error @below {{'tandem.scatter_add' op rows has element type 'f64', expected 'f32'}}
  %0 = tandem.scatter_add %x, %i, %r {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<5x8xf32>, tensor<2xi32>, tensor<2x8xf64>) -> tensor<5x8xf32>
  return
}

// -----

// update_slice 1: base and rows have at least two dimensions and differ at
// most in the second.
func.func @update_slice_rank(%c: tensor<2xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.update_slice' op base has 1 and rows has 1 dimensions, expected at least 2}}
  %0 = tandem.update_slice %c, %c, %i, %i : (tensor<2xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @update_slice_rows(%c: tensor<2x32x10xf32>, %r: tensor<2x4x9xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.update_slice' op rows has shape [2, 4, 9], expected [2, 4, 10]}}
  %0 = tandem.update_slice %c, %r, %i, %i : (tensor<2x32x10xf32>, tensor<2x4x9xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x32x10xf32>
  return
}

// -----

func.func @update_slice_type(%c: tensor<2x32x10xf32>, %r: tensor<2x4x10xbf16>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.update_slice' op rows has element type 'bf16', expected 'f32'}}
  %0 = tandem.update_slice %c, %r, %i, %i : (tensor<2x32x10xf32>, tensor<2x4x10xbf16>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x32x10xf32>
  return
}

// -----

// update_slice 2: positions and lengths have one entry a batch row.
func.func @update_slice_positions(%c: tensor<2x32xf32>, %r: tensor<2x4xf32>, %i: tensor<3xi32>, %j: tensor<2xi32>) {
  // expected-error @below {{'tandem.update_slice' op positions has shape [3], expected [2]}}
  %0 = tandem.update_slice %c, %r, %i, %j : (tensor<2x32xf32>, tensor<2x4xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<2x32xf32>
  return
}

// -----

func.func @update_slice_lengths(%c: tensor<2x32xf32>, %r: tensor<2x4xf32>, %i: tensor<3xi32>, %j: tensor<2xi32>) {
  // expected-error @below {{'tandem.update_slice' op lengths has shape [3], expected [2]}}
  %0 = tandem.update_slice %c, %r, %j, %i : (tensor<2x32xf32>, tensor<2x4xf32>, tensor<2xi32>, tensor<3xi32>) -> tensor<2x32xf32>
  return
}

// -----

// top_k 1: results have the operand's leading dimensions and k as the last, a
// multiple of `pieces`.
func.func @top_k_scalar(%x: tensor<f32>) {
  // expected-error @below {{'tandem.top_k' op operand has no dimensions, expected at least one}}
  %0, %1 = tandem.top_k %x : (tensor<f32>) -> (tensor<1xf32>, tensor<1xi32>)
  return
}

// -----

func.func @top_k_rank(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.top_k' op result has 1 dimensions, expected 2}}
  %0, %1 = tandem.top_k %x : (tensor<2x8xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}

// -----

func.func @top_k_shape(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.top_k' op values has shape [3, 1], expected [2, 1]}}
  %0, %1 = tandem.top_k %x : (tensor<2x8xf32>) -> (tensor<3x1xf32>, tensor<2x1xi32>)
  return
}

// -----

func.func @top_k_indices(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.top_k' op indices has shape [2, 2], expected [2, 1]}}
  %0, %1 = tandem.top_k %x : (tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x2xi32>)
  return
}

// -----

func.func @top_k_type(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.top_k' op values has element type 'bf16', expected 'f32'}}
  %0, %1 = tandem.top_k %x : (tensor<2x8xf32>) -> (tensor<2x1xbf16>, tensor<2x1xi32>)
  return
}

// -----

func.func @top_k_pieces(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.top_k' op pieces is 2, expected a divisor of k, 3}}
  %0, %1 = tandem.top_k %x {pieces = 2 : i64} : (tensor<2x8xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return
}

// -----

// top_k 2: k is at most the last dimension's size.
func.func @top_k_k(%x: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.top_k' op k is 9, expected at most 8}}
  %0, %1 = tandem.top_k %x : (tensor<2x8xf32>) -> (tensor<2x9xf32>, tensor<2x9xi32>)
  return
}

// -----

// top_k 3: a payload has the values' shape.
func.func @top_k_payload(%x: tensor<2x8xf32>, %p: tensor<2x7xi32>) {
  // expected-error @below {{'tandem.top_k' op payload has shape [2, 7], expected [2, 8]}}
  %0, %1 = tandem.top_k %x payload %p : (tensor<2x8xf32>, tensor<2x7xi32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  return
}

// -----

// sample 1: logits have a row for each entry of the other operands.
func.func @sample_logits(%l: tensor<8xf32>, %f: tensor<8xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{'tandem.sample' op logits has 1 dimensions, expected 2}}
  %0 = tandem.sample %l, %f, %i, %f, %i, %i : (tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  return
}

// -----

func.func @sample_rows(%l: tensor<2x8xf32>, %f: tensor<2xf32>, %g: tensor<3xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.sample' op top_p has shape [3], expected [2]}}
  %0 = tandem.sample %l, %f, %i, %g, %i, %i : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<3xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @sample_result(%l: tensor<2x8xf32>, %f: tensor<2xf32>, %i: tensor<2xi32>) {
  // expected-error @below {{'tandem.sample' op result has shape [2, 1], expected [2]}}
  %0 = tandem.sample %l, %f, %i, %f, %i, %i : (tensor<2x8xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x1xi32>
  return
}

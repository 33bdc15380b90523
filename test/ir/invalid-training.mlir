// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// cross_entropy 1: logits have a dimension; the labels have the others.
func.func @cross_entropy_scalar(%x: tensor<f32>, %l: tensor<i32>) {
  // expected-error @below {{'tandem.cross_entropy' op logits have no dimensions, expected at least one}}
  %0:2 = tandem.cross_entropy %x, %l : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_labels(%x: tensor<2x5x9xf32>, %l: tensor<2x4xi32>) {
  // expected-error @below {{'tandem.cross_entropy' op labels has shape [2, 4], expected [2, 5]}}
  %0:2 = tandem.cross_entropy %x, %l : (tensor<2x5x9xf32>, tensor<2x4xi32>) -> (tensor<2x5xf32>, tensor<2x5xf32>)
  return
}

// -----

// cross_entropy 2: results have the labels' shape; they are of f32, or of f64
// for logits of f64.
func.func @cross_entropy_shape(%x: tensor<5x9xf32>, %l: tensor<5xi32>) {
  // expected-error @below {{'tandem.cross_entropy' op loss has shape [], expected [5]}}
  %0:2 = tandem.cross_entropy %x, %l : (tensor<5x9xf32>, tensor<5xi32>) -> (tensor<f32>, tensor<5xf32>)
  return
}

// -----

func.func @cross_entropy_type(%x: tensor<5x9xbf16>, %l: tensor<5xi32>) {
  // expected-error @below {{'tandem.cross_entropy' op lse has element type 'bf16', expected 'f32'}}
  %0:2 = tandem.cross_entropy %x, %l : (tensor<5x9xbf16>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xbf16>)
  return
}

// -----

// cross_entropy_grad 1: labels, lse and g have the logits' other dimensions.
func.func @cross_entropy_grad_labels(%x: tensor<5x9xf32>, %l: tensor<4xi32>, %s: tensor<5xf32>) {
  // expected-error @below {{'tandem.cross_entropy_grad' op labels has shape [4], expected [5]}}
  %0 = tandem.cross_entropy_grad %x, %l, %s, %s : (tensor<5x9xf32>, tensor<4xi32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5x9xf32>
  return
}

// -----

// cross_entropy_grad 2: lse and g are of f32, or of f64 for logits of f64.
func.func @cross_entropy_grad_type(%x: tensor<5x9xf64>, %l: tensor<5xi32>, %s: tensor<5xf64>, %g: tensor<5xf32>) {
  // expected-error @below {{'tandem.cross_entropy_grad' op gradient has element type 'f32', expected 'f64'}}
  %0 = tandem.cross_entropy_grad %x, %l, %s, %g : (tensor<5x9xf64>, tensor<5xi32>, tensor<5xf64>, tensor<5xf32>) -> tensor<5x9xf64>
  return
}

// -----

// cross_entropy_grad 3: the result has the logits' shape and element type.
func.func @cross_entropy_grad_result(%x: tensor<5x9xbf16>, %l: tensor<5xi32>, %s: tensor<5xf32>) {
  // expected-error @below {{'tandem.cross_entropy_grad' op result has element type 'f32', expected 'bf16'}}
  %0 = tandem.cross_entropy_grad %x, %l, %s, %s : (tensor<5x9xbf16>, tensor<5xi32>, tensor<5xf32>, tensor<5xf32>) -> tensor<5x9xf32>
  return
}

// -----

// embedding_grad 1: the result has two dimensions; it is of f32, or of f64 for
// gradients of f64.
func.func @embedding_grad_rank(%i: tensor<2xi32>, %g: tensor<2x4xf32>) {
  // expected-error @below {{'tandem.embedding_grad' op result has 1 dimensions, expected 2}}
  %0 = tandem.embedding_grad %i, %g : (tensor<2xi32>, tensor<2x4xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @embedding_grad_type(%i: tensor<2xi32>, %g: tensor<2x4xbf16>) {
  // expected-error @below {{'tandem.embedding_grad' op result has element type 'bf16', expected 'f32'}}
  %0 = tandem.embedding_grad %i, %g : (tensor<2xi32>, tensor<2x4xbf16>) -> tensor<9x4xbf16>
  return
}

// -----

// embedding_grad 2: dy has the shape of the ids and then the result's row.
func.func @embedding_grad_shape(%i: tensor<2xi32>, %g: tensor<2x4xf32>) {
  // expected-error @below {{'tandem.embedding_grad' op gradient has shape [2, 4], expected [2, 5]}}
  %0 = tandem.embedding_grad %i, %g : (tensor<2xi32>, tensor<2x4xf32>) -> tensor<9x5xf32>
  return
}

// -----

// rms_norm_grad 1: the weight has one dimension, the operand's last.
func.func @rms_norm_grad_weight(%x: tensor<2x8xf32>, %w: tensor<7xf32>) {
  // expected-error @below {{'tandem.rms_norm_grad' op weight has shape [7], expected [8]}}
  %0:2 = tandem.rms_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<7xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>)
  return
}

// -----

// rms_norm_grad 2: dy and dx have the operand's shape and element type.
func.func @rms_norm_grad_gradient(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %g: tensor<3x8xf32>) {
  // expected-error @below {{'tandem.rms_norm_grad' op gradient has shape [3, 8], expected [2, 8]}}
  %0:2 = tandem.rms_norm_grad %x, %w, %g {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<3x8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>)
  return
}

// -----

// rms_norm_grad 3: dw has the weight's shape; it is of f32, or of f64 for
// operands of f64.
func.func @rms_norm_grad_type(%x: tensor<2x8xbf16>, %w: tensor<8xbf16>) {
  // expected-error @below {{'tandem.rms_norm_grad' op result 1 has element type 'bf16', expected 'f32'}}
  %0:2 = tandem.rms_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x8xbf16>, tensor<8xbf16>, tensor<2x8xbf16>) -> (tensor<2x8xbf16>, tensor<8xbf16>)
  return
}

// -----

// layer_norm_grad 1: the weight has one dimension, the operand's last.
func.func @layer_norm_grad_weight(%x: tensor<2x8xf32>, %w: tensor<2x8xf32>) {
  // expected-error @below {{'tandem.layer_norm_grad' op weight has shape [2, 8], expected [8]}}
  %0:2 = tandem.layer_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>)
  return
}

// -----

// layer_norm_grad 2: dy and dx have the operand's shape and element type.
func.func @layer_norm_grad_result(%x: tensor<2x8xbf16>, %w: tensor<8xbf16>) {
  // expected-error @below {{'tandem.layer_norm_grad' op result 0 has element type 'f32', expected 'bf16'}}
  %0:2 = tandem.layer_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x8xbf16>, tensor<8xbf16>, tensor<2x8xbf16>) -> (tensor<2x8xf32>, tensor<8xf32>)
  return
}

// -----

// layer_norm_grad 3: dw and db have the weight's shape; they are of f32, or of
// f64 for operands of f64.
func.func @layer_norm_grad_bias(%x: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'tandem.layer_norm_grad' op result 2 has shape [2, 8], expected [8]}}
  %0:3 = tandem.layer_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<2x8xf32>)
  return
}

// -----

// gelu_grad 1, silu_grad 1: dy and the result have the operand's shape and
// element type.
func.func @gelu_grad_gradient(%x: tensor<2x8xf32>, %g: tensor<8xf32>) {
  // expected-error @below {{'tandem.gelu_grad' op gradient has shape [8], expected [2, 8]}}
  %0 = tandem.gelu_grad %x, %g : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @silu_grad_result(%x: tensor<2x8xbf16>) {
  // expected-error @below {{'tandem.silu_grad' op result has element type 'f32', expected 'bf16'}}
  %0 = tandem.silu_grad %x, %x : (tensor<2x8xbf16>, tensor<2x8xbf16>) -> tensor<2x8xf32>
  return
}

// -----

// attention_grad 1: shapes agree as those of attention do.
func.func @attention_grad_key(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x7x3x9xf32>, %v: tensor<2x7x3x10xf32>, %p: tensor<2xi32>, %y: tensor<2x5x3x2x10xf32>, %s: tensor<2x5x3x2xf32>) {
  // expected-error @below {{'tandem.attention_grad' op key has shape [2, 7, 3, 9], expected [2, 7, 3, 10]}}
  %0:3 = tandem.attention_grad %q, %k, %v, %p, %y, %s, %y {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x7x3x9xf32>, tensor<2x7x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x7x3x9xf32>, tensor<2x7x3x10xf32>)
  return
}

// -----

// attention_grad 2: y and dy have its result's shape and the query's element
// type, lse is its second result.
func.func @attention_grad_output(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x7x3x10xf32>, %v: tensor<2x7x3x4xf32>, %p: tensor<2xi32>, %y: tensor<2x5x3x2x10xf32>, %s: tensor<2x5x3x2xf32>) {
  // expected-error @below {{'tandem.attention_grad' op output has shape [2, 5, 3, 2, 10], expected [2, 5, 3, 2, 4]}}
  %0:3 = tandem.attention_grad %q, %k, %v, %p, %y, %s, %y {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x4xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x4xf32>)
  return
}

// -----

func.func @attention_grad_lse(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x7x3x10xf32>, %p: tensor<2xi32>, %s: tensor<2x5x6xf32>) {
  // expected-error @below {{'tandem.attention_grad' op lse has shape [2, 5, 6], expected [2, 5, 3, 2]}}
  %0:3 = tandem.attention_grad %q, %k, %k, %p, %q, %s, %q {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x6xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x10xf32>)
  return
}

// -----

func.func @attention_grad_gradient(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x7x3x10xf32>, %p: tensor<2xi32>, %s: tensor<2x5x3x2xf32>, %g: tensor<2x5x3x2x10xbf16>) {
  // expected-error @below {{'tandem.attention_grad' op gradient has element type 'bf16', expected 'f32'}}
  %0:3 = tandem.attention_grad %q, %k, %k, %p, %q, %s, %g {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xbf16>) -> (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x10xf32>)
  return
}

// -----

// attention_grad 3: results have the shapes and element types of query, key
// and value.
func.func @attention_grad_result(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x7x3x10xf32>, %p: tensor<2xi32>, %s: tensor<2x5x3x2xf32>) {
  // expected-error @below {{'tandem.attention_grad' op result 1 has shape [2, 5, 3, 10], expected [2, 7, 3, 10]}}
  %0:3 = tandem.attention_grad %q, %k, %k, %p, %q, %s, %q {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x7x3x10xf32>, tensor<2x7x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x10xf32>, tensor<2x7x3x10xf32>)
  return
}

// -----

// adamw 1: the first four operands and the results have one shape and element
// type, f32 or f64.
func.func @adamw_type(%p: tensor<4xbf16>, %s: tensor<bf16>, %t: tensor<i32>) {
  // expected-error @below {{'tandem.adamw' op parameter has element type 'bf16', expected f32 or f64}}
  %0:3 = tandem.adamw %p, %p, %p, %p, %s, %s, %s, %s, %s, %s, %t : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<bf16>, tensor<bf16>, tensor<bf16>, tensor<bf16>, tensor<bf16>, tensor<bf16>, tensor<i32>) -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>)
  return
}

// -----

func.func @adamw_gradient(%p: tensor<4xf32>, %g: tensor<4xf64>, %s: tensor<f32>, %t: tensor<i32>) {
  // expected-error @below {{'tandem.adamw' op gradient has element type 'f64', expected 'f32'}}
  %0:3 = tandem.adamw %p, %p, %p, %g, %s, %s, %s, %s, %s, %s, %t : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// adamw 2: the others have no dimensions, and that element type; the step is
// an integer.
func.func @adamw_scalar(%p: tensor<4xf32>, %s: tensor<f32>, %t: tensor<1xi32>) {
  // expected-error @below {{'tandem.adamw' op step has shape [1], expected []}}
  %0:3 = tandem.adamw %p, %p, %p, %p, %s, %s, %s, %s, %s, %s, %t : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<1xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// sgd 1: the first three operands and the results have one shape and element
// type, f32 or f64.
func.func @sgd_shape(%p: tensor<4xf32>, %g: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @below {{'tandem.sgd' op gradient has shape [5], expected [4]}}
  %0:2 = tandem.sgd %p, %p, %g, %s, %s, %s, %s : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// sgd 2: the others have no dimensions, and that element type.
func.func @sgd_scalar(%p: tensor<4xf32>, %s: tensor<f32>, %d: tensor<f64>) {
  // expected-error @below {{'tandem.sgd' op weight_decay has element type 'f64', expected 'f32'}}
  %0:2 = tandem.sgd %p, %p, %p, %s, %s, %s, %d : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @scalar(%x: tensor<i32>) -> tensor<i32> {
  // expected-error@+1 {{operand has no dimensions, expected microbatches first}}
  %0 = tandem.microbatch %x : (tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// rms_norm 1: the weight has one dimension, the operand's last.
func.func @rms_norm_weight(%x: tensor<2x8xf32>, %w: tensor<7xf32>) {
  // expected-error @below {{'tandem.rms_norm' op weight has shape [7], expected [8]}}
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<7xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @rms_norm_scalar(%x: tensor<f32>, %w: tensor<7xf32>) {
  // expected-error @below {{'tandem.rms_norm' op operand has no dimensions, expected at least one}}
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<f32>, tensor<7xf32>) -> tensor<f32>
  return
}

// -----

// layer_norm 1: weight and bias have one dimension, the operand's last.
func.func @layer_norm_weight(%x: tensor<2x8xf32>, %w: tensor<1x8xf32>) {
  // expected-error @below {{'tandem.layer_norm' op weight has shape [1, 8], expected [8]}}
  %0 = tandem.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @layer_norm_bias(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<7xf32>) {
  // expected-error @below {{'tandem.layer_norm' op bias has shape [7], expected [8]}}
  %0 = tandem.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<7xf32>) -> tensor<2x8xf32>
  return
}

// -----

// softmax 1: the operand has a dimension.
func.func @softmax_scalar(%x: tensor<f32>) {
  // expected-error @below {{'tandem.softmax' op operand has no dimensions, expected at least one}}
  %0 = tandem.softmax %x : tensor<f32>
  return
}

// -----

// rope 1: at least three dimensions.
func.func @rope_rank(%x: tensor<2x10xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.rope' op operand has 2 dimensions, expected at least 3}}
  %0 = tandem.rope %x, %p {style = #tandem.rope<half_split>, frequencies = array<f64: 1.0>} : (tensor<2x10xf32>, tensor<2xi32>) -> tensor<2x10xf32>
  return
}

// -----

// rope 2: positions have one entry a batch row.
func.func @rope_positions(%x: tensor<2x5x10xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'tandem.rope' op positions has shape [5], expected [2]}}
  %0 = tandem.rope %x, %p {style = #tandem.rope<half_split>, frequencies = array<f64: 1.0>} : (tensor<2x5x10xf32>, tensor<5xi32>) -> tensor<2x5x10xf32>
  return
}

// -----

// rope 3: 2n is at most head_dim.
func.func @rope_frequencies(%x: tensor<2x5x3xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.rope' op frequencies rotate 4 lanes, expected at most 3}}
  %0 = tandem.rope %x, %p {style = #tandem.rope<half_split>, frequencies = array<f64: 1.0, 0.1>} : (tensor<2x5x3xf32>, tensor<2xi32>) -> tensor<2x5x3xf32>
  return
}

// -----

// attention 1: shapes agree.
func.func @attention_query(%q: tensor<2x5x6x10xf32>, %k: tensor<2x9x3x10xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op query has 4 dimensions, expected 5}}
  %0, %1 = tandem.attention %q, %k, %k, %p {scale = 1.0 : f64} : (tensor<2x5x6x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x6x10xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @attention_value_rank(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %v: tensor<2x9x30xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op value has 3 dimensions, expected 4}}
  %0, %1 = tandem.attention %q, %k, %v, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x30xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

func.func @attention_key(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x6x10xf32>, %v: tensor<2x9x3x10xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op key has shape [2, 9, 6, 10], expected [2, 9, 3, 10]}}
  %0, %1 = tandem.attention %q, %k, %v, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x6x10xf32>, tensor<2x9x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

func.func @attention_value(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %v: tensor<2x9x4x8xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op value has shape [2, 9, 4, 8], expected [2, 9, 3, 8]}}
  %0, %1 = tandem.attention %q, %k, %v, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x4x8xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x8xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

func.func @attention_result(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %v: tensor<2x9x3x8xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op result has shape [2, 5, 3, 2, 10], expected [2, 5, 3, 2, 8]}}
  %0, %1 = tandem.attention %q, %k, %v, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x8xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

func.func @attention_window(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op window is -1, expected at least 0}}
  %0, %1 = tandem.attention %q, %k, %k, %p {scale = 1.0 : f64, window = -1 : i64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

func.func @attention_slopes(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %p: tensor<2xi32>, %s: tensor<6xf32>) {
  // expected-error @below {{'tandem.attention' op slopes has shape [6], expected [3, 2]}}
  %0, %1 = tandem.attention %q, %k, %k, %p slopes %s {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<2xi32>, tensor<6xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

// attention 2: positions have one entry a batch row; the mask is [batch, keys].
func.func @attention_positions(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %p: tensor<5xi32>) {
  // expected-error @below {{'tandem.attention' op positions has shape [5], expected [2]}}
  %0, %1 = tandem.attention %q, %k, %k, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<5xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

func.func @attention_mask(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %p: tensor<2xi32>, %m: tensor<2x5xi32>) {
  // expected-error @below {{'tandem.attention' op mask has shape [2, 5], expected [2, 9]}}
  %0, %1 = tandem.attention %q, %k, %k, %p mask %m {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<2xi32>, tensor<2x5xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// -----

// attention 3: the second result is [batch, sequence, kv, group] of f32.
func.func @attention_lse(%q: tensor<2x5x3x2x10xf32>, %k: tensor<2x9x3x10xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op second result has shape [2, 5, 6], expected [2, 5, 3, 2]}}
  %0, %1 = tandem.attention %q, %k, %k, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x9x3x10xf32>, tensor<2x9x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @attention_lse_type(%q: tensor<2x5x3x2x10xbf16>, %k: tensor<2x9x3x10xbf16>, %p: tensor<2xi32>) {
  // expected-error @below {{'tandem.attention' op second result has element type 'bf16', expected 'f32'}}
  %0, %1 = tandem.attention %q, %k, %k, %p {scale = 1.0 : f64} : (tensor<2x5x3x2x10xbf16>, tensor<2x9x3x10xbf16>, tensor<2x9x3x10xbf16>, tensor<2xi32>) -> (tensor<2x5x3x2x10xbf16>, tensor<2x5x3x2xbf16>)
  return
}

// RUN: tandem-opt %s | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --mlir-print-op-generic | tandem-opt | FileCheck %s
// RUN: tandem-opt %s --emit-bytecode | tandem-opt | FileCheck %s

// Every operation of phase 1 in the form that its description shows.

// CHECK: tandem.mesh @mesh = <["pp"=2, "dp"=2, "tp"=4]>
tandem.mesh @mesh = <["pp"=2, "dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @contraction
func.func @contraction(%x: tensor<2x5x8xf32>, %w: tensor<8x16xf32>,
                       %m: tensor<4x8xf32>) {
  // CHECK: tandem.einsum "bsd,df->bsf" %{{.*}}, %{{.*}} : (tensor<2x5x8xf32>, tensor<8x16xf32>) -> tensor<2x5x16xf32>
  %0 = tandem.einsum "bsd,df->bsf" %x, %w : (tensor<2x5x8xf32>, tensor<8x16xf32>) -> tensor<2x5x16xf32>
  // CHECK: tandem.einsum "ab->b" %{{.*}} : (tensor<4x8xf32>) -> tensor<8xf32>
  %1 = tandem.einsum "ab->b" %m : (tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: tandem.reduce sum, %{{.*}} [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = tandem.reduce sum, %m [1] : (tensor<4x8xf32>) -> tensor<4xf32>
  // CHECK: tandem.reduce max, %{{.*}} [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %3 = tandem.reduce max, %m [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  // CHECK: tandem.reduce min, %{{.*}} [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  %4 = tandem.reduce min, %m [0] : (tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: tandem.cumulative_sum %{{.*}} {dim = 1 : i64} : tensor<4x8xf32>
  %5 = tandem.cumulative_sum %m {dim = 1 : i64} : tensor<4x8xf32>
  // CHECK: tandem.cumulative_sum %{{.*}} {dim = 0 : i64, exclusive, reverse} : tensor<4x8xf32>
  %6 = tandem.cumulative_sum %m {dim = 0 : i64, exclusive, reverse} : tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x8xf32>, %i: tensor<4xi32>, %b: tensor<4xi1>) {
  // CHECK: tandem.unary exp, %{{.*}} : tensor<4x8xf32>
  %0 = tandem.unary exp, %x : tensor<4x8xf32>
  // CHECK: tandem.unary neg, %{{.*}} : tensor<4xi32>
  %1 = tandem.unary neg, %i : tensor<4xi32>
  // CHECK: tandem.unary not, %{{.*}} : tensor<4xi1>
  %2 = tandem.unary not, %b : tensor<4xi1>
  // CHECK: tandem.unary reciprocal, %{{.*}} {tandem.layer = 3 : i64} : tensor<4x8xf32>
  %3 = tandem.unary reciprocal, %x {tandem.layer = 3 : i64} : tensor<4x8xf32>
  // CHECK: tandem.gelu %{{.*}} {approximate = #tandem.gelu<tanh>} : tensor<4x8xf32>
  %4 = tandem.gelu %x {approximate = #tandem.gelu<tanh>} : tensor<4x8xf32>
  // CHECK: tandem.gelu %{{.*}} : tensor<4x8xf32>
  %5 = tandem.gelu %x : tensor<4x8xf32>
  // CHECK: tandem.gelu %{{.*}} {approximate = #tandem.gelu<quick>} : tensor<4x8xf32>
  %6 = tandem.gelu %x {approximate = #tandem.gelu<quick>} : tensor<4x8xf32>
  // CHECK: tandem.silu %{{.*}} : tensor<4x8xf32>
  %7 = tandem.silu %x : tensor<4x8xf32>
  // CHECK: tandem.cast %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %8 = tandem.cast %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4xf32>, %y: tensor<4xf32>, %m: tensor<4xi1>) {
  // CHECK: tandem.binary mul, %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = tandem.binary mul, %x, %y : tensor<4xf32>
  // CHECK: tandem.binary and, %{{.*}}, %{{.*}} : tensor<4xi1>
  %1 = tandem.binary and, %m, %m : tensor<4xi1>
  // CHECK: tandem.compare lt, %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = tandem.compare lt, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: tandem.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = tandem.select %m, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: tandem.sum %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
  %4 = tandem.sum %x, %y, %0 : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @annotations
func.func @annotations(%x: tensor<4x8xf32>, %q: tensor<2x13x2x2x12xf32>) {
  // CHECK: tandem.sharding_constraint %{{.*}} {sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>} : tensor<4x8xf32>
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{"dp"}, {} ]>} : tensor<4x8xf32>
  // CHECK: tandem.sharding_constraint %{{.*}} {view = #tandem.view<"@heads"[2, 13, 48], heads(2, 2, 2, 12)>} : tensor<2x13x2x2x12xf32>
  %1 = tandem.sharding_constraint %q {view = #tandem.view<"@heads"[2, 13, 48], heads(2, 2, 2, 12)>} : tensor<2x13x2x2x12xf32>
  // CHECK: tandem.reshard %{{.*}} {cause = "einsum", sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>} : tensor<4x8xf32>
  %2 = tandem.reshard %x {sharding = #tandem.sharding<@mesh, [{"tp"}, {} ]>, cause = "einsum"} : tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%table: tensor<101x48xf32>, %ids: tensor<2x13xi32>,
                    %x: tensor<2x13x48xf32>, %one: tensor<2xi32>,
                    %cache: tensor<2x32x3x10xf32>, %rows: tensor<2x4x3x10xf32>) {
  // CHECK: tandem.embedding %{{.*}}, %{{.*}} : (tensor<101x48xf32>, tensor<2x13xi32>) -> tensor<2x13x48xf32>
  %0 = tandem.embedding %table, %ids : (tensor<101x48xf32>, tensor<2x13xi32>) -> tensor<2x13x48xf32>
  // CHECK: tandem.gather %{{.*}}, %{{.*}} {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<2x13x48xf32>, tensor<2xi32>) -> tensor<2x48xf32>
  %1 = tandem.gather %x, %one {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x13x48xf32>, tensor<2xi32>) -> tensor<2x48xf32>
  // CHECK: tandem.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {batch_dims = 0 : i64, dim = 0 : i64} : (tensor<101x48xf32>, tensor<2x13xi32>, tensor<2x13x48xf32>) -> tensor<101x48xf32>
  %2 = tandem.scatter_add %table, %ids, %x {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<101x48xf32>, tensor<2x13xi32>, tensor<2x13x48xf32>) -> tensor<101x48xf32>
  // CHECK: tandem.update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x32x3x10xf32>, tensor<2x4x3x10xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x32x3x10xf32>
  %3 = tandem.update_slice %cache, %rows, %one, %one : (tensor<2x32x3x10xf32>, tensor<2x4x3x10xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x32x3x10xf32>
  return
}

// CHECK-LABEL: func.func @choosing
func.func @choosing(%logits: tensor<2x101xf32>, %v2: tensor<2x8xf32>, %i2: tensor<2x8xi32>,
                    %float: tensor<2xf32>, %int: tensor<2xi32>, %seed: tensor<2xi64>) {
  // CHECK: tandem.top_k %{{.*}} : (tensor<2x101xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  %v, %i = tandem.top_k %logits : (tensor<2x101xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  // CHECK: tandem.top_k %{{.*}} payload %{{.*}} : (tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  %w, %j = tandem.top_k %v2 payload %i2 : (tensor<2x8xf32>, tensor<2x8xi32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  // CHECK: tandem.top_k %{{.*}} {pieces = 4 : i64} : (tensor<2x101xf32>) -> (tensor<2x8xf32>, tensor<2x8xi32>)
  %u, %k = tandem.top_k %logits {pieces = 4 : i64} : (tensor<2x101xf32>) -> (tensor<2x8xf32>, tensor<2x8xi32>)
  // CHECK: tandem.sample %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x101xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi32>) -> tensor<2xi32>
  %id = tandem.sample %logits, %float, %int, %float, %seed, %int : (tensor<2x101xf32>, tensor<2xf32>, tensor<2xi32>, tensor<2xf32>, tensor<2xi64>, tensor<2xi32>) -> tensor<2xi32>
  return
}

// CHECK-LABEL: func.func @shape
func.func @shape(%x: tensor<4x8xf32>, %y: tensor<4x6xf32>, %bias: tensor<8xf32>,
                 %a: tensor<2x8xf32>, %b: tensor<3x8xf32>) {
  // CHECK: tandem.constant dense<1.000000e+00> : tensor<4xf32>
  %0 = tandem.constant dense<1.0> : tensor<4xf32>
  // CHECK: tandem.constant {tandem.layer = 2 : i64} dense<[1, 2]> : tensor<2xi32>
  %1 = tandem.constant {tandem.layer = 2 : i64} dense<[1, 2]> : tensor<2xi32>
  // CHECK: tandem.constant dense<0> : tensor<4xi32> -> tensor<1xi32, #tandem.local<[4], @mesh, [{"tp"}]>>
  %2 = tandem.constant dense<0> : tensor<4xi32> -> tensor<1xi32, #tandem.local<[4], @mesh, [{"tp"}]>>
  // CHECK: tandem.iota {dim = 0 : i64} : tensor<8x4xi32>
  %3 = tandem.iota {dim = 0 : i64} : tensor<8x4xi32>
  // CHECK: tandem.iota {dim = 1 : i64, start = 2.000000e+00 : f64, step = 5.000000e-01 : f64} : tensor<8x4xf32>
  %4 = tandem.iota {dim = 1 : i64, start = 2.0 : f64, step = 0.5 : f64} : tensor<8x4xf32>
  // CHECK: tandem.reshape %{{.*}} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %5 = tandem.reshape %y : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  // CHECK: tandem.transpose %{{.*}} [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %6 = tandem.transpose %x [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: tandem.broadcast_in_dim %{{.*}} [2] : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %7 = tandem.broadcast_in_dim %bias [2] : (tensor<8xf32>) -> tensor<2x5x8xf32>
  // CHECK: tandem.slice %{{.*}} [0, 2] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  %8 = tandem.slice %x [0, 2] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK: tandem.concat %{{.*}}, %{{.*}} {dim = 0 : i64} : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  %9 = tandem.concat %a, %b {dim = 0 : i64} : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  // CHECK: tandem.pad %{{.*}} low [0, 1] high [0, 2] value 0.000000e+00 : (tensor<4x8xf32>) -> tensor<4x11xf32>
  %10 = tandem.pad %x low [0, 1] high [0, 2] value 0.0 : (tensor<4x8xf32>) -> tensor<4x11xf32>
  return
}

// CHECK-LABEL: func.func @transformer
func.func @transformer(%x: tensor<2x5x48xf32>, %w: tensor<48xf32>, %b: tensor<48xf32>,
                       %r: tensor<2x5x3x10xf32>, %positions: tensor<2xi32>,
                       %q: tensor<2x5x3x2x10xf32>, %k: tensor<2x32x3x10xf32>,
                       %mask: tensor<2x32xi32>, %slopes: tensor<3x2xf32>) {
  // CHECK: tandem.rms_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
  // CHECK: tandem.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
  %1 = tandem.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
  // CHECK: tandem.layer_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
  %2 = tandem.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
  // CHECK: tandem.softmax %{{.*}} : tensor<2x5x48xf32>
  %3 = tandem.softmax %x : tensor<2x5x48xf32>
  // CHECK: tandem.rope %{{.*}}, %{{.*}} {frequencies = array<f64: 1.000000e+00, 1.000000e-02>, style = #tandem.rope<half_split>} : (tensor<2x5x3x10xf32>, tensor<2xi32>) -> tensor<2x5x3x10xf32>
  %4 = tandem.rope %r, %positions {style = #tandem.rope<half_split>, frequencies = array<f64: 1.0, 0.01>} : (tensor<2x5x3x10xf32>, tensor<2xi32>) -> tensor<2x5x3x10xf32>
  // CHECK: tandem.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 2.500000e-01 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  %y, %lse = tandem.attention %q, %k, %k, %positions {causal, scale = 0.25 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  // CHECK: tandem.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} slopes %{{.*}} {scale = 2.500000e-01 : f64, softcap = 3.000000e+01 : f64, window = 8 : i64} :
  %z, %lse2 = tandem.attention %q, %k, %k, %positions mask %mask slopes %slopes {scale = 0.25 : f64, window = 8 : i64, softcap = 30.0 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>, tensor<2x32xi32>, tensor<3x2xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  return
}

// CHECK-LABEL: func.func @training
func.func @training(%logits: tensor<2x13x101xbf16>, %labels: tensor<2x13xi32>, %ids: tensor<2x13xi32>,
                    %x: tensor<2x13x48xbf16>, %w: tensor<48xbf16>, %positions: tensor<2xi32>,
                    %q: tensor<2x5x3x2x10xf32>, %k: tensor<2x32x3x10xf32>,
                    %p: tensor<4x8xf32>, %s: tensor<f32>, %step: tensor<i32>) {
  // CHECK: %[[LOSS:.*]], %[[LSE:.*]] = tandem.cross_entropy %{{.*}}, %{{.*}} : (tensor<2x13x101xbf16>, tensor<2x13xi32>) -> (tensor<2x13xf32>, tensor<2x13xf32>)
  %loss, %lse = tandem.cross_entropy %logits, %labels : (tensor<2x13x101xbf16>, tensor<2x13xi32>) -> (tensor<2x13xf32>, tensor<2x13xf32>)
  // CHECK: tandem.cross_entropy_grad %{{.*}}, %{{.*}}, %[[LSE]], %[[LOSS]] {ignored = 0 : i64} : (tensor<2x13x101xbf16>, tensor<2x13xi32>, tensor<2x13xf32>, tensor<2x13xf32>) -> tensor<2x13x101xbf16>
  %dlogits = tandem.cross_entropy_grad %logits, %labels, %lse, %loss {ignored = 0 : i64} : (tensor<2x13x101xbf16>, tensor<2x13xi32>, tensor<2x13xf32>, tensor<2x13xf32>) -> tensor<2x13x101xbf16>
  // CHECK: tandem.embedding_grad %{{.*}}, %{{.*}} : (tensor<2x13xi32>, tensor<2x13x48xbf16>) -> tensor<101x48xf32>
  %dtable = tandem.embedding_grad %ids, %x : (tensor<2x13xi32>, tensor<2x13x48xbf16>) -> tensor<101x48xf32>
  // CHECK: tandem.rms_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64, weight_offset = 1.000000e+00 : f64} : (tensor<2x13x48xbf16>, tensor<48xbf16>, tensor<2x13x48xbf16>) -> (tensor<2x13x48xbf16>, tensor<48xf32>)
  %r:2 = tandem.rms_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64, weight_offset = 1.0 : f64} : (tensor<2x13x48xbf16>, tensor<48xbf16>, tensor<2x13x48xbf16>) -> (tensor<2x13x48xbf16>, tensor<48xf32>)
  // CHECK: tandem.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x13x48xbf16>, tensor<48xbf16>, tensor<2x13x48xbf16>) -> (tensor<2x13x48xbf16>, tensor<48xf32>, tensor<48xf32>)
  %l:3 = tandem.layer_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x13x48xbf16>, tensor<48xbf16>, tensor<2x13x48xbf16>) -> (tensor<2x13x48xbf16>, tensor<48xf32>, tensor<48xf32>)
  // CHECK: tandem.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<2x13x48xbf16>, tensor<48xbf16>, tensor<2x13x48xbf16>) -> (tensor<2x13x48xbf16>, tensor<48xf32>)
  %m:2 = tandem.layer_norm_grad %x, %w, %x {epsilon = 1.0e-5 : f64} : (tensor<2x13x48xbf16>, tensor<48xbf16>, tensor<2x13x48xbf16>) -> (tensor<2x13x48xbf16>, tensor<48xf32>)
  // CHECK: tandem.gelu_grad %{{.*}}, %{{.*}} {approximate = #tandem.gelu<tanh>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = tandem.gelu_grad %p, %p {approximate = #tandem.gelu<tanh>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: tandem.silu_grad %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = tandem.silu_grad %p, %p : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y, %sums = tandem.attention %q, %k, %k, %positions {causal, scale = 0.25 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
  // CHECK: tandem.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 2.500000e-01 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>)
  %a:3 = tandem.attention_grad %q, %k, %k, %positions, %y, %sums, %y {causal, scale = 0.25 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>)
  // CHECK: tandem.adamw %[[P:.*]], %[[P]], %[[P]], %[[P]], %[[S:.*]], %[[S]], %[[S]], %[[S]], %[[S]], %[[S]], %{{.*}} {decay} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  %u:3 = tandem.adamw %p, %p, %p, %p, %s, %s, %s, %s, %s, %s, %step {decay} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: tandem.sgd %[[P]], %[[P]], %[[P]], %[[S]], %[[S]], %[[S]], %[[S]] : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %v:2 = tandem.sgd %p, %p, %p, %s, %s, %s, %s : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}

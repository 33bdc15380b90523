// RUN: tandem-opt %s --tandem-add-optimizer | FileCheck %s

// Gradients become updates; parameters and states are tied to what replaces
// them; settings are inputs; the norm counts every gradient once. A bias, of
// one dimension as stored, does not decay.
// CHECK-LABEL: func.func @adamw
// CHECK-SAME:    %[[W:[a-z0-9]*]]: tensor<4x2xf32> {tandem.aliases = 2 : i64, tandem.parameter = #tandem.view<"w">}
// CHECK-SAME:    %[[B:[a-z0-9]*]]: tensor<2xf32> {tandem.aliases = 5 : i64, tandem.parameter = #tandem.view<"b">}
// CHECK-SAME:    %[[CLIP:[a-z0-9]*]]: tensor<f32> {tandem.input = "clip_norm"}
// CHECK-SAME:    %[[M:[a-z0-9]*]]: tensor<4x2xf32> {tandem.aliases = 3 : i64, tandem.moment = #tandem.view<"w">, tandem.state = "exp_avg.w"}
// CHECK-SAME:    %[[V:[a-z0-9]*]]: tensor<4x2xf32> {tandem.aliases = 4 : i64, tandem.moment = #tandem.view<"w">, tandem.state = "exp_avg_sq.w"}
// CHECK-SAME:    tensor<f32> {tandem.input = "learning_rate"}
// CHECK-SAME:    tensor<i32> {tandem.input = "step"}
// CHECK-SAME:    -> (tensor<f32> {tandem.output = "loss"}, tensor<f32> {tandem.output = "grad_norm"}, tensor<4x2xf32>, tensor<4x2xf32> {tandem.state = "exp_avg.w"}
// CHECK-NOT:     tandem.optimizer
// CHECK:         %[[S0:.*]] = tandem.einsum "ab,ab->" %[[GW:.*]], %[[GW]] {tandem.layer = 3 : i64}
// CHECK:         %[[S1:.*]] = tandem.einsum "a,a->"
// CHECK:         %[[ALL:.*]] = tandem.sum %[[S0]], %[[S1]]
// CHECK:         %[[NORM:.*]] = tandem.unary sqrt, %[[ALL]]
// CHECK:         %[[SCALE:.*]] = tandem.select
// CHECK:         %[[W2:.*]], %[[M2:.*]], %[[V2:.*]] = tandem.adamw %[[W]], %[[M]], %[[V]], %[[GW]], %[[SCALE]]{{.*}} {decay, tandem.layer = 3 : i64}
// CHECK:         tandem.adamw %[[B]]
// CHECK-NOT:     decay
// CHECK-SAME:    tandem.layer = 3
// CHECK:         return %{{.*}}, %[[NORM]], %[[W2]], %[[M2]], %[[V2]]
func.func @adamw(%x: tensor<4xf32> {tandem.input = "x"},
                 %w: tensor<4x2xf32> {tandem.parameter = #tandem.view<"w">},
                 %b: tensor<2xf32> {tandem.parameter = #tandem.view<"b">})
    -> (tensor<f32> {tandem.output = "loss"},
        tensor<4x2xf32> {tandem.output = "grad.w", tandem.gradient = #tandem.view<"w">},
        tensor<2xf32> {tandem.output = "grad.b", tandem.gradient = #tandem.view<"b">})
    attributes {tandem.optimizer = "adamw"} {
  %0 = tandem.einsum "a,ab->b" %x, %w {tandem.layer = 3 : i64} : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
  %1 = tandem.sum %0, %b {tandem.layer = 3 : i64} : tensor<2xf32>
  %2 = tandem.reduce sum, %1 [0] {tandem.layer = 3 : i64} : (tensor<2xf32>) -> tensor<f32>
  %3 = tandem.broadcast_in_dim %x [0] {tandem.layer = 3 : i64} : (tensor<4xf32>) -> tensor<4x2xf32>
  %4 = tandem.constant dense<1.0> : tensor<2xf32>
  return %2, %3, %4 : tensor<f32>, tensor<4x2xf32>, tensor<2xf32>
}

// Functions without the attribute are left alone.
// CHECK-LABEL: func.func @alone
// CHECK-SAME:    tandem.gradient
func.func @alone(%b: tensor<2xf32> {tandem.parameter = #tandem.view<"b">})
    -> (tensor<2xf32> {tandem.gradient = #tandem.view<"b">}) {
  return %b : tensor<2xf32>
}

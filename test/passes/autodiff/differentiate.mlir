// RUN: tandem-opt %s --tandem-differentiate | FileCheck %s

// Gradients of parameters are results; what comes of the derivative carries
// the layer of its operation and `tandem.backward`.
// CHECK-LABEL: func.func @linear
// CHECK-SAME:    -> (tensor<f32> {tandem.output = "loss"},
// CHECK-SAME:        tensor<8xf32> {tandem.gradient = #tandem.view<"w">, tandem.output = "grad.w"})
// CHECK-NOT:     tandem.differentiate
// CHECK:         %[[Y:.*]] = tandem.einsum "bd,d->b"
// CHECK:         %[[LOSS:.*]] = tandem.reduce sum
// CHECK-NEXT:    %[[ONE:.*]] = tandem.constant dense<1.000000e+00>
// CHECK-NEXT:    %[[DY:.*]] = tandem.broadcast_in_dim %[[ONE]] [] {tandem.backward, tandem.layer = 1 : i64}
// CHECK-NEXT:    %[[DW:.*]] = tandem.einsum "b,bd->d" %[[DY]], %arg0 {tandem.backward, tandem.layer = 0 : i64}
// CHECK-NEXT:    return %[[LOSS]], %[[DW]]
func.func @linear(%x: tensor<4x8xf32> {tandem.input = "x"},
                  %w: tensor<8xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %0 = tandem.einsum "bd,d->b" %x, %w {tandem.layer = 0 : i64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  %1 = tandem.reduce sum, %0 [0] {tandem.layer = 1 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// Functions without the attribute are left alone.
// CHECK-LABEL: func.func @asked_for_nothing
// CHECK-SAME:    -> (tensor<f32> {tandem.output = "loss"})
// CHECK-NEXT:    return
func.func @asked_for_nothing(%w: tensor<f32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"}) {
  return %w : tensor<f32>
}

// Gradients of one value are one sum. A residual's come in the order of
// layers; those of the first operation of the text come last.
// CHECK-LABEL: func.func @fan_in
// CHECK:         %[[G:.*]] = tandem.broadcast_in_dim %{{.*}} []
// CHECK:         %[[SIN:.*]] = tandem.binary mul, %[[G]]
// CHECK:         %[[COS:.*]] = tandem.unary neg
// CHECK:         %[[X:.*]] = tandem.sum %[[COS]], %[[SIN]], %[[G]] {tandem.backward, tandem.layer = 0 : i64} : tensor<4xf32>
// CHECK-NEXT:    return %{{.*}}, %[[X]]
func.func @fan_in(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %c = tandem.unary cos, %w {tandem.layer = 0 : i64} : tensor<4xf32>
  %s = tandem.unary sin, %w {tandem.layer = 1 : i64} : tensor<4xf32>
  %0 = tandem.sum %c, %s, %w {tandem.layer = 2 : i64} : tensor<4xf32>
  %1 = tandem.reduce sum, %0 [0] {tandem.layer = 2 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// A parameter without influence has a gradient of zero; further views of one
// key are numbered; the type is the accumulators', the layout the parameter's.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @results
// CHECK-SAME:    tensor<2xf32> {tandem.gradient = #tandem.view<"w"[4], slice(0, 0, 2)>, tandem.output = "grad.w", tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>}
// CHECK-SAME:    tensor<2xf64> {tandem.gradient = #tandem.view<"w"[4], slice(0, 2, 4)>, tandem.output = "grad.w#2"}
// CHECK:         %[[ZERO:.*]] = tandem.constant dense<0.000000e+00> : tensor<2xf64>
// CHECK:         return %{{.*}}, %{{.*}}, %[[ZERO]]
func.func @results(%a: tensor<2xbf16> {tandem.parameter = #tandem.view<"w"[4], slice(0, 0, 2)>, tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>},
                   %b: tensor<2xf64> {tandem.parameter = #tandem.view<"w"[4], slice(0, 2, 4)>},
                   %ids: tensor<2xi32> {tandem.parameter = #tandem.view<"ids">})
    -> (tensor<bf16> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %0 = tandem.reduce sum, %a [0] : (tensor<2xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// What the microbatches use is summed in the body, for each layer apart, and
// accumulated, a parameter's under a name that annotations know; a cast's gradient is cast back behind that. What is used once,
// outside of them, is added as it is.
// CHECK-LABEL: func.func @microbatches
// CHECK:         %[[C:.*]] = tandem.cast %arg1
// CHECK:         %[[LOSS:.*]] = tandem.sum
// CHECK-DAG:     %[[HEAD:.*]] = tandem.einsum "b,bd->d" {{.*}}tandem.backward, tandem.layer = 1
// CHECK-DAG:     %[[LOW:.*]] = tandem.einsum "b,bd->d" {{.*}}tandem.backward, tandem.layer = 0
// CHECK-DAG:     %[[NAMED0:.*]] = tandem.sharding_constraint %[[LOW]] {tandem.backward, tandem.layer = 0 : i64, view = #tandem.view<"grad.
// CHECK-DAG:     %[[NAMED1:.*]] = tandem.sharding_constraint %[[HEAD]] {tandem.backward, tandem.layer = 1 : i64, view = #tandem.view<"grad.
// CHECK-DAG:     %[[SUM0:.*]] = tandem.accumulate %[[NAMED0]] {tandem.backward, tandem.layer = 0 : i64} : (tensor<8xbf16>) -> tensor<8xf32>
// CHECK-DAG:     %[[SUM1:.*]] = tandem.accumulate %[[NAMED1]] {tandem.backward, tandem.layer = 1 : i64} : (tensor<8xbf16>) -> tensor<8xf32>
// CHECK:         %[[CAST:.*]] = tandem.sum %[[SUM0]], %[[SUM1]] {tandem.backward, tandem.layer = -1 : i64} : tensor<8xf32>
// CHECK:         %[[ALL:.*]] = tandem.sum %[[CAST]], %{{.*}} {tandem.backward, tandem.layer = -1 : i64} : tensor<8xf32>
// CHECK:         return %[[LOSS]], %[[ALL]]
func.func @microbatches(%x: tensor<3x4x8xbf16> {tandem.input = "x"},
                        %w: tensor<8xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %w16 = tandem.cast %w {tandem.layer = -1 : i64} : (tensor<8xf32>) -> tensor<8xbf16>
  %m = tandem.microbatch %x {tandem.layer = -1 : i64} : (tensor<3x4x8xbf16>) -> tensor<4x8xbf16>
  %0 = tandem.einsum "bd,d->b" %m, %w16 {tandem.layer = 0 : i64} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4xbf16>
  %1 = tandem.einsum "bd,d->b" %m, %w16 {tandem.layer = 1 : i64} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4xbf16>
  %2 = tandem.binary mul, %0, %1 {tandem.layer = 1 : i64} : tensor<4xbf16>
  %3 = tandem.reduce sum, %2 [0] {tandem.layer = 1 : i64} : (tensor<4xbf16>) -> tensor<bf16>
  %4 = tandem.accumulate %3 {tandem.layer = 1 : i64} : (tensor<bf16>) -> tensor<f32>
  %5 = tandem.reduce sum, %w [0] {tandem.layer = 1 : i64} : (tensor<8xf32>) -> tensor<f32>
  %6 = tandem.sum %4, %5 {tandem.layer = 1 : i64} : tensor<f32>
  return %6 : tensor<f32>
}

// A gradient that does not depend on the microbatch is still its own.
// CHECK-LABEL: func.func @bias
// CHECK:         %[[SUM:.*]] = tandem.accumulate %{{.*}} {tandem.backward}
// CHECK:         return %{{.*}}, %[[SUM]]
func.func @bias(%x: tensor<3x4xf32> {tandem.input = "x"},
                %b: tensor<4xf32> {tandem.parameter = #tandem.view<"b">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %m = tandem.microbatch %x : (tensor<3x4xf32>) -> tensor<4xf32>
  %0 = tandem.sum %m, %b : tensor<4xf32>
  %1 = tandem.reduce sum, %0 [0] : (tensor<4xf32>) -> tensor<f32>
  %2 = tandem.accumulate %1 : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// An activation's annotation is its gradient's too, but of a sum over ranks the
// gradient is copied to them.
// CHECK-LABEL: func.func @annotated
// CHECK:         tandem.sharding_constraint %{{.*}} {sharding = #tandem.sharding<@mesh, [{"tp"}]>, tandem.backward, view = #tandem.view<"@residual">}
// CHECK:         tandem.sharding_constraint %{{.*}} {sharding = #tandem.sharding<@mesh, [{}], replicated={"tp"}>, tandem.backward}
func.func @annotated(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<f32> {tandem.output = "loss"})
    attributes {tandem.differentiate} {
  %0 = tandem.sharding_constraint %w {sharding = #tandem.sharding<@mesh, [{}], unreduced={"tp"}>} : tensor<4xf32>
  %1 = tandem.sharding_constraint %0 {sharding = #tandem.sharding<@mesh, [{"tp"}]>, view = #tandem.view<"@residual">} : tensor<4xf32>
  %2 = tandem.reduce sum, %1 [0] : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

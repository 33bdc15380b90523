// RUN: tandem-opt %s --tandem-fix-sums -split-input-file | FileCheck %s

// Without the attribute sums are as layouts make them.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @free
// CHECK: tandem.sharding_constraint
// CHECK: tandem.reduce sum, %{{.*}} [0, 1]
func.func @free(%x: tensor<4x8xf32>) -> tensor<f32> {
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{}, {}], unreduced={"tp"}>} : tensor<4x8xf32>
  %1 = tandem.reduce sum, %0 [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["tp"=2]>

// A sum of partial sums does not wait; what splits a tensor stays.
// CHECK-LABEL: func.func @together
// CHECK-NEXT: tandem.sharding_constraint %arg0 {sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}
// CHECK-NEXT: return
func.func @together(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>} : tensor<4x8xf32>
  %1 = tandem.sharding_constraint %0 {sharding = #tandem.sharding<@mesh, [{}, {}], unreduced={"tp"}>} : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// One dimension after another, the last first; of maxima no order counts, and
// integers are exact.
// CHECK-LABEL: func.func @reduced
// CHECK-NEXT: %[[A:.*]] = tandem.reduce sum, %arg0 [1] {tandem.layer = 3 : i64} : (tensor<4x8x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[B:.*]] = tandem.reduce sum, %[[A]] [0] {tandem.layer = 3 : i64} : (tensor<4x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: tandem.reduce max, %arg0 [0, 1]
// CHECK-NEXT: tandem.reduce sum, %arg1 [0, 1]
// CHECK-NEXT: return %[[B]]
func.func @reduced(%x: tensor<4x8x6xf32>, %i: tensor<4x8xi32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<i32>) {
  %0 = tandem.reduce sum, %x [0, 1] {tandem.layer = 3 : i64} : (tensor<4x8x6xf32>) -> tensor<6xf32>
  %1 = tandem.reduce max, %x [0, 1] : (tensor<4x8x6xf32>) -> tensor<6xf32>
  %2 = tandem.reduce sum, %i [0, 1] : (tensor<4x8xi32>) -> tensor<i32>
  return %0, %1, %2 : tensor<6xf32>, tensor<6xf32>, tensor<i32>
}

// A norm's square: rows are summed by the product, then added. A matrix
// product is one chain and stays.
// CHECK-LABEL: func.func @products
// CHECK-NEXT: %[[R:.*]] = tandem.einsum "abc,abc->ab" %arg0, %arg0
// CHECK-NEXT: %[[A:.*]] = tandem.reduce sum, %[[R]] [1]
// CHECK-NEXT: %[[S:.*]] = tandem.reduce sum, %[[A]] [0]
// CHECK-NEXT: tandem.einsum "a,a->" %arg1, %arg1
// CHECK-NEXT: tandem.einsum "abc,dbc->ad" %arg0, %arg0
// CHECK-NEXT: return %[[S]]
func.func @products(%x: tensor<4x8x6xf32>, %v: tensor<6xf32>) -> (tensor<f32>, tensor<f32>, tensor<4x4xf32>) {
  %0 = tandem.einsum "abc,abc->" %x, %x : (tensor<4x8x6xf32>, tensor<4x8x6xf32>) -> tensor<f32>
  %1 = tandem.einsum "a,a->" %v, %v : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>
  %2 = tandem.einsum "abc,dbc->ad" %x, %x : (tensor<4x8x6xf32>, tensor<4x8x6xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<4x4xf32>
}

// Narrow types are rounded to behind a sum; a product without one stays.
// CHECK-LABEL: func.func @narrow
// CHECK-NEXT: %[[P:.*]] = tandem.einsum "ab,bc->ac" {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: %[[N:.*]] = tandem.cast %[[P]] {{.*}} -> tensor<4x6xbf16>
// CHECK-NEXT: %[[W:.*]] = tandem.cast %[[N]] : (tensor<4x6xbf16>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[S:.*]] = tandem.reduce sum, %[[W]] [0]
// CHECK-NEXT: tandem.cast %[[S]] : (tensor<6xf32>) -> tensor<6xbf16>
// CHECK-NEXT: tandem.einsum "a,c->ac" {{.*}} -> tensor<6x6xbf16>
func.func @narrow(%x: tensor<4x8xbf16>, %y: tensor<8x6xbf16>) -> tensor<6x6xbf16> {
  %0 = tandem.einsum "ab,bc->ac" %x, %y {tandem.layer = 0 : i64} : (tensor<4x8xbf16>, tensor<8x6xbf16>) -> tensor<4x6xbf16>
  %1 = tandem.reduce sum, %0 [0] : (tensor<4x6xbf16>) -> tensor<6xbf16>
  %2 = tandem.einsum "a,c->ac" %1, %1 : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6x6xbf16>
  return %2 : tensor<6x6xbf16>
}

// A loss is the sum that it is over a split vocabulary, on every layout; a
// norm is whole on every layout.
// CHECK-LABEL: func.func @loss
// CHECK-NEXT: tandem.rms_norm
// CHECK-NEXT: tandem.reduce max, %{{.*}} [1] {tandem.layer = 2 : i64}
// CHECK:      tandem.reduce sum
// CHECK:      tandem.gather
// CHECK-NOT:  tandem.cross_entropy
func.func @loss(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %labels: tensor<4xi32>) -> tensor<4xf32> {
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %loss, %lse = tandem.cross_entropy %0, %labels {tandem.layer = 2 : i64} : (tensor<4x8xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %loss : tensor<4xf32>
}

// Numbers of several layers have a lane each, so that stages add nothing but
// zeros; those of one layer, and what no layer made, are added as they stand.
// CHECK-LABEL: func.func @layers
// CHECK:      %[[X:.*]] = tandem.unary exp
// CHECK-NEXT: %[[Y:.*]] = tandem.unary exp
// CHECK-NEXT: %[[Z:.*]] = tandem.unary exp
// CHECK-NEXT: %[[XY:.*]] = tandem.sum %[[X]], %[[Y]] {tandem.layer = 0 : i64} : tensor<f32>
// CHECK-NEXT: %[[R:.*]] = tandem.reshape %[[XY]] {tandem.layer = 0 : i64}
// CHECK-NEXT: %[[P:.*]] = tandem.pad %[[R]] low [0] high [1] value 0.000000e+00 {tandem.layer = 0 : i64}
// CHECK-NEXT: %[[Q:.*]] = tandem.reshape %[[Z]] {tandem.layer = 1 : i64}
// CHECK-NEXT: %[[O:.*]] = tandem.pad %[[Q]] low [1] high [0] value 0.000000e+00 {tandem.layer = 1 : i64}
// CHECK-NEXT: %[[A:.*]] = tandem.sum %[[P]], %[[O]] {tandem.layer = 2 : i64} : tensor<2xf32>
// CHECK-NEXT: %[[S:.*]] = tandem.reduce sum, %[[A]] [0] {tandem.layer = 2 : i64}
// CHECK-NEXT: tandem.sum %[[S]], %arg0
func.func @layers(%a: tensor<f32>) -> tensor<f32> {
  %0 = tandem.unary exp, %a {tandem.layer = 0 : i64} : tensor<f32>
  %1 = tandem.unary exp, %0 {tandem.layer = 0 : i64} : tensor<f32>
  %2 = tandem.unary exp, %1 {tandem.layer = 1 : i64} : tensor<f32>
  %3 = tandem.sum %0, %1, %2 {tandem.layer = 2 : i64} : tensor<f32>
  %4 = tandem.sum %3, %a {tandem.layer = 2 : i64} : tensor<f32>
  return %4 : tensor<f32>
}
}

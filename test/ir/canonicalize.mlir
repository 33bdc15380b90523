// RUN: tandem-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @cast_to_own_type(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT:    return %[[X]]
func.func @cast_to_own_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tandem.cast %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A cast to a narrower type and back loses digits and stays.
// CHECK-LABEL: func.func @cast_there_and_back(
// CHECK-COUNT-2: tandem.cast
func.func @cast_there_and_back(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tandem.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = tandem.cast %0 : (tensor<4xbf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reshape_to_own_type(
// CHECK-SAME:    %[[X:.*]]: tensor<4x6xf32>
// CHECK-NEXT:    return %[[X]]
func.func @reshape_to_own_type(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tandem.reshape %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func @reshape_of_reshape(
// CHECK-SAME:    %[[X:.*]]: tensor<4x6xf32>
// CHECK-NEXT:    %[[Y:.*]] = tandem.reshape %[[X]] : (tensor<4x6xf32>) -> tensor<2x12xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @reshape_of_reshape(%x: tensor<4x6xf32>) -> tensor<2x12xf32> {
  %0 = tandem.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = tandem.reshape %0 : (tensor<24xf32>) -> tensor<2x12xf32>
  return %1 : tensor<2x12xf32>
}

// -----

// CHECK-LABEL: func.func @reshape_there_and_back(
// CHECK-SAME:    %[[X:.*]]: tensor<4x6xf32>
// CHECK-NEXT:    return %[[X]]
func.func @reshape_there_and_back(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tandem.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = tandem.reshape %0 : (tensor<24xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func @sum_of_one(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT:    return %[[X]]
func.func @sum_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tandem.sum %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @flatten_sum(
// CHECK-SAME:    %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>
// CHECK-NEXT:    %[[S:.*]] = tandem.sum %[[C]], %[[A]], %[[B]], %[[A]] {tandem.layer = 1 : i64} : tensor<4xf32>
// CHECK-NEXT:    return %[[S]]
func.func @flatten_sum(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tandem.sum %a, %b {tandem.layer = 0 : i64} : tensor<4xf32>
  %1 = tandem.sum %c, %0, %a {tandem.layer = 1 : i64} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A sum that is used elsewhere too would be computed twice.
// CHECK-LABEL: func.func @sum_with_another_use(
// CHECK-COUNT-2: tandem.sum
func.func @sum_with_another_use(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tandem.sum %a, %b : tensor<4xf32>
  %1 = tandem.sum %0, %a : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

tandem.mesh @mesh = <["tp"=2]>

// A constraint says how an activation lies: it is no identity to fold.
// CHECK-LABEL: func.func @constraint_stays(
// CHECK: tandem.sharding_constraint
func.func @constraint_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{}]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @unused_goes(
// CHECK-NEXT: return
func.func @unused_goes(%x: tensor<4xf32>) {
  %0 = tandem.unary exp, %x : tensor<4xf32>
  return
}

// RUN: tandem-opt %s --tandem-assign-stages -split-input-file | FileCheck %s

// Equal layers are cut in the middle.
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @even
// CHECK: tandem.layer = 0 : i64, tandem.stage = 0 : i64
// CHECK: tandem.layer = 1 : i64, tandem.stage = 0 : i64
// CHECK: tandem.layer = 2 : i64, tandem.stage = 1 : i64
// CHECK: tandem.layer = 3 : i64, tandem.stage = 1 : i64
func.func @even(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tandem.einsum "bd,de->be" %x, %w {tandem.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tandem.einsum "bd,de->be" %0, %w {tandem.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = tandem.einsum "bd,de->be" %1, %w {tandem.layer = 2 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = tandem.einsum "bd,de->be" %2, %w {tandem.layer = 3 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// A head that costs as much as three layers is alone on its stage.
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @head
// CHECK: tandem.layer = 0 : i64, tandem.stage = 0 : i64
// CHECK: tandem.layer = 1 : i64, tandem.stage = 0 : i64
// CHECK: tandem.layer = 2 : i64, tandem.stage = 1 : i64
func.func @head(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %v: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %0 = tandem.einsum "bd,de->be" %x, %w {tandem.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tandem.einsum "bd,de->be" %0, %w {tandem.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = tandem.einsum "bd,de->be" %1, %v {tandem.layer = 2 : i64} : (tensor<4x4xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
  return %2 : tensor<4x12xf32>
}

// -----

// Three layers over two stages.
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @odd
// CHECK: tandem.stage = 0 : i64
// CHECK: tandem.stage = 1 : i64
func.func @odd(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = tandem.einsum "bd,de->be" %x, %w {tandem.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tandem.einsum "bd,de->be" %0, %w {tandem.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = tandem.einsum "bd,de->be" %1, %w {tandem.layer = 2 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// What runs for each of four microbatches counts four times: layers 0 and 1 are
// parted, though in one run of each operation layer 2 is the dearest.
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @step
// CHECK: tandem.layer = 0 : i64, tandem.stage = 0 : i64
// CHECK: tandem.layer = 1 : i64, tandem.stage = 1 : i64
// CHECK: tandem.layer = 2 : i64, tandem.stage = 1 : i64
func.func @step(%xs: tensor<4x4x4xf32> {tandem.input = "xs"}, %w: tensor<4x4xf32>, %v: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %x = tandem.microbatch %xs {tandem.layer = 0 : i64} : (tensor<4x4x4xf32>) -> tensor<4x4xf32>
  %0 = tandem.einsum "bd,de->be" %x, %w {tandem.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tandem.einsum "bd,de->be" %0, %w {tandem.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = tandem.accumulate %1 {tandem.layer = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = tandem.einsum "bd,de->be" %2, %v {tandem.layer = 2 : i64} : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

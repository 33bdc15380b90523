// RUN: tandem-opt %s --tandem-assign-stages -split-input-file -verify-diagnostics

// expected-error @below {{a training step has 4 stages for 2 units (embedding, layers and head), expected a unit or more on each; make 'pp' or the virtual stages fewer}}
module attributes {tandem.schedule_name = "zb-v"} {
  tandem.mesh @mesh = <["pp"=2]>
  func.func @step(%xs: tensor<2x4x4xf32> {tandem.input = "xs"}, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %x = tandem.microbatch %xs {tandem.layer = 0 : i64} : (tensor<2x4x4xf32>) -> tensor<4x4xf32>
    %0 = tandem.einsum "bd,de->be" %x, %w {tandem.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = tandem.einsum "bd,de->be" %0, %w {tandem.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = tandem.accumulate %1 {tandem.layer = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}

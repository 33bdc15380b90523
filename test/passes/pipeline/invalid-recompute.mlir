// RUN: tandem-opt %s --tandem-recompute -split-input-file -verify-diagnostics

// expected-error @below {{recompute is '0,x', expected none, selective, full or layers such as 0,2,5-7}}
module attributes {tandem.recompute = "0,x"} {
}

// -----

// expected-error @below {{recompute names layer 2, expected layers below 2}}
module attributes {tandem.recompute = "0-2"} {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tandem.unary exp, %x {tandem.layer = 2 : i64} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

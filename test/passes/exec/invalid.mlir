// RUN: tandem-opt %s --tandem-lower-to-exec -split-input-file -verify-diagnostics

func.func @f() -> tensor<2xf32> attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{a constant of different values has no kernel; expected a splat}}
  %0 = tandem.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

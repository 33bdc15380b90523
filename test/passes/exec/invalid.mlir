// RUN: tandem-opt %s --tandem-lower-to-exec -split-input-file -verify-diagnostics

func.func @f() -> tensor<2xf32> attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{has 2 different values, expected a splat or at most 65535; make it a parameter}}
  %0 = tandem.constant dense_resource<values> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      values: "0x040000000000803F00000040"
    }
  }
#-}

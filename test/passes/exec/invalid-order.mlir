// RUN: tandem-opt %s --tandem-lower-to-exec -verify-diagnostics

// A change of layout that partition has not made collectives of.
tandem.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{'tandem.reshard' op has no kernel}}
  %0 = tandem.reshard %x {sharding = #tandem.sharding<@mesh, [{}]>, cause = "output"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

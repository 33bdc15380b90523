// RUN: tandem-opt %s --tandem-split-stages -split-input-file -verify-diagnostics

!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
func.func @f(%x: !t) -> !t {
  // expected-error @below {{has no 'tandem.stage'; run assign-stages first}}
  %0 = tandem.unary exp, %x : !t
  return %0 : !t
}

// -----

!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
func.func @f(%x: !t) -> !t {
  // expected-error @below {{attribute 'tandem.stage' is 2, expected below 2}}
  %0 = tandem.unary exp, %x {tandem.stage = 2 : i64} : !t
  return %0 : !t
}

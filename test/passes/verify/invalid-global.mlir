// RUN: tandem-opt %s --tandem-verify-phase=phase=1 -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @below {{may not stand in phase 1}}
  %0 = tandem.alloc : !tandem.buffer<tensor<4xf32>>
  return
}

// -----

tandem.mesh @mesh = <["tp"=2]>
!t = tensor<2xf32, #tandem.local<[4], @mesh, [{"tp"}]>>
func.func @f(%x: !t) {
  // expected-error @below {{, which phase 1 does not have}}
  %0 = tandem.unary exp, %x : !t
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %0 = tandem.unary exp, %x {tandem.layer = 0 : i64} : tensor<4xf32>
  // expected-error @below {{has no 'tandem.layer', other operations of its function have}}
  %1 = tandem.unary exp, %0 : tensor<4xf32>
  return
}

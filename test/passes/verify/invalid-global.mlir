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

// -----

// expected-note @below {{the first is here}}
tandem.mesh @a = <["tp"=2]>
// expected-error @below {{is a second mesh, expected one for all shardings of a module}}
tandem.mesh @b = <["tp"=4]>

// -----

// expected-error @below {{argument 1 'tandem.input' is "x" as that of argument 0, expected a name of its own}}
func.func @f(%x: tensor<4xf32> {tandem.input = "x"}, %y: tensor<4xf32> {tandem.input = "x"}) {
  return
}

// -----

// expected-error @below {{argument 2 'tandem.state' is "k" as that of argument 0, expected a name of its own}}
func.func @f(%x: tensor<4xf32> {tandem.state = "k"}, %y: tensor<4xf32> {tandem.input = "k"}, %z: tensor<4xf32> {tandem.state = "k"}) {
  return
}

// -----

// expected-error @below {{result 1 'tandem.output' is "y" as that of result 0, expected a name of its own}}
func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> {tandem.output = "y"}, tensor<4xf32> {tandem.output = "y"}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

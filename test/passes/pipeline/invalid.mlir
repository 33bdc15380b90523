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

// -----

// What the last microbatch left is no value of the step.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!b = tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=2]>
func.func @f(%x: !b {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> (!t {tandem.output = "y"}) {
  %0 = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
  %1 = tandem.binary mul, %0, %w {tandem.stage = 0 : i64} : !t
  %2 = tandem.accumulate %1 {tandem.stage = 0 : i64} : (!t) -> !t
  // expected-error @below {{reads a value of one microbatch behind the last, expected a 'tandem.accumulate' between}}
  %3 = tandem.sum %2, %1 {tandem.stage = 0 : i64} : !t
  return %3 : !t
}

// -----

// expected-error @below {{the table is of 2 coordinates, the mesh has pp=1}}
module attributes {tandem.schedule_text = "0: F0 B0\n1: F0 B0\n"} {
  tandem.mesh @mesh = <["pp"=1]>
}

// -----

module attributes {tandem.schedule_text = "0: F0 F1 F2 B0 B1 B2\n"} {
  tandem.mesh @mesh = <["pp"=1]>
  // expected-error @below {{the table is of 3 microbatches, the step has 2}}
  func.func @f(%x: tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>> {tandem.input = "x"}) -> (tensor<4xf32, #tandem.local<[4], @mesh, [{}]>> {tandem.output = "y"}) {
    %0 = tandem.microbatch %x : (tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>) -> tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
    %1 = tandem.accumulate %0 : (tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>) -> tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
    return %1 : tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
  }
}

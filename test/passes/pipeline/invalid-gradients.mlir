// RUN: tandem-opt %s --tandem-split-stages --verify-diagnostics

// Gradients go from later stages to earlier ones only.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!b = tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=2]>
func.func @f(%x: !b {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> (!t {tandem.output = "y"}) {
  %0 = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
  %1 = tandem.binary mul, %0, %w {tandem.stage = 0 : i64, tandem.backward} : !t
  // expected-error @below {{on stage 1 needs a value of stage 0, expected one of a later stage}}
  %2 = tandem.binary mul, %1, %w {tandem.stage = 1 : i64, tandem.backward} : !t
  %3 = tandem.accumulate %2 {tandem.stage = 1 : i64} : (!t) -> !t
  return %3 : !t
}

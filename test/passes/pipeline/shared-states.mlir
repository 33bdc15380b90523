// RUN: tandem-opt %s --tandem-split-stages -split-input-file -verify-diagnostics | FileCheck %s

// Stages that read a state nobody changes have copies; one returns it.
tandem.mesh @mesh = <["pp"=2]>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
// CHECK-LABEL: func.func @f.pp0(
// CHECK-SAME: {tandem.aliases = 0 : i64, tandem.state = "s"}
// CHECK-LABEL: func.func @f.pp1(
// CHECK-NOT: tandem.aliases
func.func @f(%s: !t {tandem.state = "s", tandem.aliases = 1 : i64}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> (!t, !t) {
  %0 = tandem.sum %w, %s {tandem.stage = 0 : i64} : !t
  %1 = tandem.sum %0, %s {tandem.stage = 1 : i64} : !t
  return %1, %s : !t, !t
}

// -----

tandem.mesh @mesh = <["pp"=2]>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
// expected-error @below {{argument 0 is a state that stage 1 reads and another changes; a state lives on one stage}}
func.func @f(%s: !t {tandem.state = "s", tandem.aliases = 1 : i64}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> (!t, !t) {
  %0 = tandem.sum %w, %s {tandem.stage = 0 : i64} : !t
  %1 = tandem.sum %0, %s {tandem.stage = 1 : i64} : !t
  return %1, %0 : !t, !t
}

// RUN: tandem-opt %s --tandem-split-stages -split-input-file | FileCheck %s

!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// Each stage is a function of its own; the value between them is sent.
// CHECK-LABEL: func.func @f.pp0(
// CHECK: %[[E:.*]] = tandem.unary  exp
// CHECK: tandem.send %[[E]] to 1
// CHECK-LABEL: func.func @f.pp1(
// CHECK: %[[R:.*]] = tandem.recv from 0
// CHECK: %[[N:.*]] = tandem.unary  neg, %[[R]]
// CHECK: return %[[N]]
func.func @f(%x: !t) -> !t {
  %0 = tandem.unary exp, %x {tandem.stage = 0 : i64} : !t
  %1 = tandem.unary neg, %0 {tandem.stage = 1 : i64} : !t
  return %1 : !t
}

// -----

// What depends on inputs alone is made again where it is used, not sent.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @cloned.pp0(
// CHECK-NOT: tandem.send
// CHECK-LABEL: func.func @cloned.pp1(
// CHECK: tandem.unary  exp
// CHECK: tandem.unary  neg
func.func @cloned(%x: !t {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> !t {
  %0 = tandem.unary exp, %x {tandem.stage = 0 : i64} : !t
  %1 = tandem.unary neg, %0 {tandem.stage = 1 : i64} : !t
  %2 = tandem.binary mul, %1, %w {tandem.stage = 1 : i64} : !t
  return %2 : !t
}

// -----

// Whoever runs an entry gives all its inputs: the first stage takes those that
// nothing reads.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @unread.pp0(
// CHECK-SAME: {tandem.input = "x"}
// CHECK-SAME: {tandem.input = "unread"}
// CHECK-LABEL: func.func @unread.pp1(
// CHECK-NOT: tandem.input
func.func @unread(%x: !t {tandem.input = "x"}, %u: !t {tandem.input = "unread"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> !t {
  %0 = tandem.sum %x, %w {tandem.stage = 0 : i64} : !t
  %1 = tandem.unary neg, %0 {tandem.stage = 1 : i64} : !t
  return %1 : !t
}

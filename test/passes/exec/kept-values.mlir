// RUN: tandem-opt %s --tandem-lower-to-exec -split-input-file | FileCheck %s

// Each state takes the other's value, which leaves its place first.
tandem.mesh @mesh = <["tp"=1]>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
// CHECK-LABEL: func.func @swap(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !tandem.buffer<{{[^%]*}} %[[B:[a-z0-9]+]]: !tandem.buffer<
// CHECK: %[[OLD_B:.*]] = tandem.alloc
// CHECK: tandem.launch "map" ins(%[[B]] : {{.*}}) outs(%[[OLD_B]] :
// CHECK: %[[OLD_A:.*]] = tandem.alloc
// CHECK: tandem.launch "map" ins(%[[A]] : {{.*}}) outs(%[[OLD_A]] :
// CHECK: tandem.launch "map" ins(%[[OLD_B]] : {{.*}}) outs(%[[A]] :
// CHECK: tandem.launch "map" ins(%[[OLD_A]] : {{.*}}) outs(%[[B]] :
// CHECK: return %[[A]], %[[B]]
func.func @swap(%a: !t {tandem.state = "a", tandem.aliases = 0 : i64}, %b: !t {tandem.state = "b", tandem.aliases = 1 : i64}) -> (!t, !t) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  return %b, %a : !t, !t
}

// -----

// An output that is a state's old value is copied before the state changes.
tandem.mesh @mesh = <["tp"=1]>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
// CHECK-LABEL: func.func @old(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !tandem.buffer<
// CHECK: tandem.launch "map" ins(%[[A]] : {{.*}}) outs(%[[NEW:[0-9a-z%]+]] :
// CHECK: %[[OLD:.*]] = tandem.alloc
// CHECK: tandem.launch "map" ins(%[[A]] : {{.*}}) outs(%[[OLD]] :
// CHECK: tandem.launch "map" ins(%[[NEW]] : {{.*}}) outs(%[[A]] :
// CHECK: return %[[A]], %[[OLD]]
func.func @old(%a: !t {tandem.state = "a", tandem.aliases = 0 : i64}) -> (!t, !t) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.unary exp, %a : !t
  return %0, %a : !t, !t
}

// -----

// What is read behind an update is not updated in place.
tandem.mesh @mesh = <["tp"=1]>
!t = tensor<1x4xf32, #tandem.local<[1, 4], @mesh, [{}, {}]>>
!r = tensor<1x1xf32, #tandem.local<[1, 1], @mesh, [{}, {}]>>
!n = tensor<1xi32, #tandem.local<[1], @mesh, [{}]>>
// CHECK-LABEL: func.func @read_later(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !tandem.buffer<
// CHECK: %[[OWN:.*]] = tandem.alloc
// CHECK: tandem.launch "map" ins(%[[A]] : {{.*}}) outs(%[[OWN]] :
// CHECK: tandem.launch "update_slice" ins(%[[OWN]], {{.*}}) outs(%[[OWN]] :
// CHECK: tandem.launch "map" ins(%[[A]], %[[OWN]] :
func.func @read_later(%a: !t {tandem.state = "a", tandem.aliases = 0 : i64}, %rows: !r, %p: !n, %l: !n) -> (!t, !t) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.update_slice %a, %rows, %p, %l : (!t, !r, !n, !n) -> !t
  %1 = tandem.sum %a, %0 : !t
  return %0, %1 : !t, !t
}

// -----

// A state that changes is.
tandem.mesh @mesh = <["tp"=1]>
!t = tensor<1x4xf32, #tandem.local<[1, 4], @mesh, [{}, {}]>>
!r = tensor<1x1xf32, #tandem.local<[1, 1], @mesh, [{}, {}]>>
!n = tensor<1xi32, #tandem.local<[1], @mesh, [{}]>>
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !tandem.buffer<
// CHECK-NOT: tandem.alloc
// CHECK: tandem.launch "update_slice" ins(%[[A]], {{.*}}) outs(%[[A]] :
// CHECK-NEXT: return %[[A]]
func.func @in_place(%a: !t {tandem.state = "a", tandem.aliases = 0 : i64}, %rows: !r, %p: !n, %l: !n) -> !t attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.update_slice %a, %rows, %p, %l : (!t, !r, !n, !n) -> !t
  return %0 : !t
}

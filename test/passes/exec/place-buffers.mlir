// RUN: tandem-opt %s --tandem-lower-to-exec --tandem-place-buffers -split-input-file | FileCheck %s

// Sizes are multiples of 64 bytes: 4x16 floats are 256. The input lives while
// it is read; in place the second result takes the buffer of the first over,
// so that two buffers are alive at once and no more.
!t = tensor<4x16xf32, #tandem.local<[4, 16], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @chain
// CHECK-SAME: tandem.arena_lower_bound = 512 : i64, tandem.arena_peak = 512 : i64
// CHECK: tandem.alloc {offset =
// CHECK-NOT: tandem.alloc
// CHECK: return
func.func @chain(%x: !t {tandem.input = "x"}) -> (!t {tandem.output = "y"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.einsum "ab->ab" %x : (!t) -> !t
  %1 = tandem.unary exp, %0 : !t
  return %1 : !t
}

// -----

// Terms take over the buffer of what they are multiplied with: another type,
// in the same layer.
!t = tensor<4x16xf32, #tandem.local<[4, 16], @mesh, [{}, {}]>>
!u = tensor<4x16xf32, #tandem.local<[4, 16], @mesh, [{}, {}], unreduced={"tp"}>>
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @terms
// CHECK: tandem.launch "map"
// CHECK-NEXT: tandem.rename {{.*}} {tandem.layer = 3 : i64}
// CHECK-NEXT: tandem.launch "map"
func.func @terms(%x: !t {tandem.input = "x"}, %terms: !u {tandem.input = "terms"}) -> (!t {tandem.output = "y"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.unary exp, %x {tandem.layer = 3 : i64} : !t
  %1 = tandem.binary mul, %0, %terms {tandem.layer = 3 : i64} : (!t, !u) -> !u
  %2 = tandem.all_reduce %1 over <"tp"> cause "mul" {tandem.layer = 3 : i64} : (!u) -> !t
  return %2 : !t
}

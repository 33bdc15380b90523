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

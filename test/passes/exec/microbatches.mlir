// RUN: tandem-opt %s --tandem-lower-to-exec --tandem-place-buffers -split-input-file | FileCheck %s

// A microbatch is a view of its batch. A sum over microbatches is zero in the
// prologue and grows in place. What forward leaves for backward lies in a slot
// of two (the 64 bytes of %1, over which %2 is not written, and %2's); what
// backward alone uses is scratch behind them; both lie behind what lives
// through the step: the batch of 128 bytes and the sum of 64.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
!b = tensor<2x16xf32, #tandem.local<[2, 16], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=1]>
// CHECK-LABEL: func.func @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tandem.buffer<{{[^%]*}} {tandem.input = "x", tandem.offset = 0 : i64}
// CHECK-SAME: tandem.arena_lower_bound = 512 : i64, tandem.arena_peak = 512 : i64
// CHECK-SAME: tandem.slots = array<i64: 192, 128, 2>
// CHECK: %[[TOTAL:.*]] = tandem.alloc {offset = 128 : i64
// CHECK-NEXT: tandem.launch "fill" ins() outs(%[[TOTAL]] : {{.*}}tandem.action = 0
// CHECK: %[[V:.*]] = tandem.microbatch_view %[[X]]
// CHECK: %[[E:.*]] = tandem.alloc {offset = {{(0|64)}} : i64, pool = 0 : i64
// CHECK: tandem.launch "map" ins(%[[V]] : {{.*}}) outs(%[[E]] :
// CHECK: %[[F:.*]] = tandem.alloc {offset = {{(0|64)}} : i64, pool = 0 : i64
// CHECK: tandem.launch "einsum" ins(%[[E]] : {{.*}}) outs(%[[F]] :
// CHECK: %[[S:.*]] = tandem.alloc {offset = 448 : i64
// CHECK: tandem.launch "einsum" ins(%[[E]], %[[F]] : {{.*}}) outs(%[[S]] :
// CHECK: tandem.launch "map" ins(%[[TOTAL]], %[[S]] : {{.*}}) outs(%[[TOTAL]] : {{.*}}tandem.action = 2
// CHECK: return %[[TOTAL]]
func.func @body(%x: !b {tandem.input = "x"}) -> (!t {tandem.output = "y"})
    attributes {tandem.entry = "f", tandem.pp = 0 : i64,
                tandem.actions = ["prologue", "forward.0", "backward.0", "epilogue"], tandem.pools = array<i64: -1, 0, 0, -1>,
                tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, 1, 3, 0, 0>} {
  %0 = tandem.microbatch %x {tandem.action = 1 : i64} : (!b) -> !t
  %1 = tandem.unary exp, %0 {tandem.action = 1 : i64} : !t
  %2 = tandem.einsum "a->a" %1 {tandem.action = 1 : i64} : (!t) -> !t
  %3 = tandem.einsum "a,a->a" %1, %2 {tandem.action = 2 : i64} : (!t, !t) -> !t
  %4 = tandem.accumulate %3 {tandem.action = 2 : i64} : (!t) -> !t
  return %4 : !t
}

// -----

// Of one microbatch both are other names for memory that is there.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
!b = tensor<1x16xf32, #tandem.local<[1, 16], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=1]>
// CHECK-LABEL: func.func @once(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tandem.buffer<
// CHECK-NOT: tandem.slots
// CHECK: %[[V:.*]] = tandem.rename %[[X]]
// CHECK: %[[E:.*]] = tandem.alloc
// CHECK-NEXT: tandem.launch "map" ins(%[[V]] : {{.*}}) outs(%[[E]] :
// CHECK-NEXT: return %[[E]]
func.func @once(%x: !b {tandem.input = "x"}) -> (!t {tandem.output = "y"})
    attributes {tandem.entry = "f", tandem.pp = 0 : i64,
                tandem.actions = ["prologue", "forward.0", "epilogue"], tandem.pools = array<i64: -1, 0, -1>,
                tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 2, 0, 0>} {
  %0 = tandem.microbatch %x {tandem.action = 1 : i64} : (!b) -> !t
  %1 = tandem.unary exp, %0 {tandem.action = 1 : i64} : !t
  %2 = tandem.accumulate %1 {tandem.action = 1 : i64} : (!t) -> !t
  return %2 : !t
}

// -----

// An optimizer works on its parameter and its state where they are.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
!s = tensor<f32, #tandem.local<[], @mesh, []>>
tandem.mesh @mesh = <["pp"=1]>
// CHECK-LABEL: func.func @update(
// CHECK-SAME: %[[P:[a-z0-9]+]]: !tandem.buffer<{{[^%]*}} %[[M:[a-z0-9]+]]: !tandem.buffer<
// CHECK-NOT: tandem.alloc
// CHECK: tandem.launch "sgd" ins(%[[P]], %[[M]], {{.*}}) outs(%[[P]], %[[M]] :
// CHECK-NEXT: return %[[P]], %[[M]]
func.func @update(%p: !t {tandem.parameter = #tandem.view<"p">, tandem.aliases = 0 : i64},
                  %m: !t {tandem.state = "m", tandem.aliases = 1 : i64}, %g: !t {tandem.input = "g"}, %s: !s {tandem.input = "s"}) -> (!t, !t)
    attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0, %1 = tandem.sgd %p, %m, %g, %s, %s, %s, %s : (!t, !t, !t, !s, !s, !s, !s) -> (!t, !t)
  return %0, %1 : !t, !t
}

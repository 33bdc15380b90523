// RUN: tandem-opt %s --tandem-lower-to-exec --tandem-assign-streams -split-input-file | FileCheck %s

// The sends of a middle stage, each lane on a stream of its own, with an event
// for each of the two slots. Activations are waited for in backward, gradients
// in forward, behind the receives there, and both at the end of the body.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=3]>
// CHECK-LABEL: func.func @middle(
// CHECK-DAG: tandem.record 3 on 2 {tandem.action = 0
// CHECK-DAG: tandem.record 4 on 2 {tandem.action = 0
// CHECK: tandem.communicate "recv" ins() outs(%[[X:[0-9a-z]+]] :
// CHECK-NEXT: tandem.wait 3 on 0 for(%[[D:[0-9a-z]+]] : {{.*}}) {per_slot, tandem.action = 1
// CHECK: tandem.launch "map" ins(%[[X]] : {{.*}}) outs(%[[Y:[0-9a-z]+]] :
// CHECK-NEXT: tandem.record 2 on 0 {tandem.action = 1
// CHECK-NEXT: tandem.wait 2 on 1 {tandem.action = 1
// CHECK-NEXT: tandem.communicate "send" ins(%[[Y]] : {{.*}}stream = 1 : i64
// CHECK-NEXT: tandem.record 0 on 1 {per_slot, tandem.action = 1
// CHECK: tandem.communicate "recv"
// CHECK-NEXT: tandem.wait 0 on 0 for(%[[Y]] : {{.*}}) {per_slot, tandem.action = 2
// CHECK: outs(%[[D]] :
// CHECK-NEXT: tandem.record 5 on 0
// CHECK-NEXT: tandem.wait 5 on 2
// CHECK-NEXT: tandem.communicate "send" ins(%[[D]] : {{.*}}stream = 2 : i64
// CHECK-NEXT: tandem.record 3 on 2 {per_slot
// CHECK: tandem.record [[BACK:[0-9]+]] on 2 {tandem.action = 3
// CHECK-NEXT: tandem.wait [[BACK]] on 0 {tandem.action = 3
// CHECK-NEXT: tandem.record [[AHEAD:[0-9]+]] on 1 {tandem.action = 3
// CHECK-NEXT: tandem.wait [[AHEAD]] on 0 {tandem.action = 3
// CHECK: return
func.func @middle() attributes {tandem.entry = "f", tandem.pp = 1 : i64,
    tandem.actions = ["prologue", "forward.1", "backward.1", "epilogue"], tandem.pools = array<i64: -1, 0, 0, -1>,
    tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, 1, 3, 0, 0>} {
  %0 = tandem.recv from 0 {tandem.action = 1 : i64} : !t
  %1 = tandem.unary exp, %0 {tandem.action = 1 : i64} : !t
  tandem.send %1 to 2 {tandem.action = 1 : i64} : !t
  %2 = tandem.recv from 2 {tandem.action = 2 : i64} : !t
  %3 = tandem.binary mul, %2, %0 {tandem.action = 2 : i64} : !t
  tandem.send %3 to 0 {tandem.action = 2 : i64} : !t
  return
}

// -----

// A body that runs once is a straight line.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @once(
// CHECK-NOT: tandem.record
// CHECK: tandem.communicate "send"
// CHECK-NOT: stream
// CHECK: return
func.func @once(%x: !t {tandem.input = "x"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  tandem.send %x to 1 : !t
  return
}

// -----

// The gather of layer 1 goes ahead of layer 0, beside whose product it runs.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
!s = tensor<8xf32, #tandem.local<[16], @mesh, [{"dp"}]>>
tandem.mesh @mesh = <["dp"=2]>
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tandem.buffer<{{[^%]*}} %[[W0:[a-z0-9]+]]: {{[^%]*}} %[[W1:[a-z0-9]+]]: !tandem
// CHECK: tandem.communicate "all_gather" ins(%[[W0]] : {{.*}}) outs(%[[G0:[0-9]+]] : {{.*}}) {
// CHECK-NOT: stream
// CHECK-SAME: tandem.layer = 0
// CHECK: tandem.record 0 on 0
// CHECK-NEXT: tandem.wait 0 on 1
// CHECK-NEXT: tandem.communicate "all_gather" ins(%[[W1]] : {{.*}}) outs(%[[G1:[0-9]+]] : {{.*}}stream = 1 : i64
// CHECK-NEXT: tandem.record 1 on 1
// CHECK: tandem.launch "einsum" ins(%[[X]], %[[G0]] :
// CHECK: tandem.wait 1 on 0 for(%[[W1]], %[[G1]] :
// CHECK-NEXT: tandem.launch "einsum"
func.func @gather(%x: !t {tandem.input = "x"}, %w0: !s {tandem.parameter = #tandem.view<"w0">}, %w1: !s {tandem.parameter = #tandem.view<"w1">})
    -> (!t {tandem.output = "y"})
    attributes {tandem.entry = "f", tandem.pp = 0 : i64,
                tandem.actions = ["prologue", "forward.0", "epilogue"], tandem.pools = array<i64: -1, 0, -1>,
                tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 2, 0, 0>} {
  %0 = tandem.all_gather %w0 over <"dp"> dim 0 cause "a" {tandem.action = 1 : i64, tandem.layer = 0 : i64} : (!s) -> !t
  %1 = tandem.einsum "a,a->a" %x, %0 {tandem.action = 1 : i64, tandem.layer = 0 : i64} : (!t, !t) -> !t
  %2 = tandem.all_gather %w1 over <"dp"> dim 0 cause "a" {tandem.action = 1 : i64, tandem.layer = 1 : i64} : (!s) -> !t
  %3 = tandem.einsum "a,a->a" %1, %2 {tandem.action = 1 : i64, tandem.layer = 1 : i64} : (!t, !t) -> !t
  return %3 : !t
}

// -----

// What uses a reduction goes behind the layer after its own.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
!p = tensor<16xf32, #tandem.local<[16], @mesh, [{}], unreduced={"dp"}>>
!s = tensor<8xf32, #tandem.local<[16], @mesh, [{"dp"}]>>
tandem.mesh @mesh = <["dp"=2]>
// CHECK-LABEL: func.func @reduce(
// CHECK: tandem.wait 0 on 1
// CHECK-NEXT: tandem.communicate "reduce_scatter" {{.*}} outs(%[[R:[0-9]+]] : !tandem.buffer<tensor<8xf32{{.*}}stream = 1 : i64
// CHECK-NEXT: tandem.record 1 on 1
// CHECK: tandem.launch "map" {{.*}}tandem.layer = 0
// CHECK: tandem.wait 1 on 0 for({{.*}}%[[R]]{{.*}})
// CHECK-NEXT: tandem.launch "map" {{.*}}tandem.layer = 1
func.func @reduce(%x: !t {tandem.input = "x"}, %g: !p {tandem.input = "g"}) -> (!t {tandem.output = "y"}, !s {tandem.output = "z"})
    attributes {tandem.entry = "f", tandem.pp = 0 : i64,
                tandem.actions = ["prologue", "backward.0", "epilogue"], tandem.pools = array<i64: -1, 0, -1>,
                tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 2, 0, 0>} {
  %0 = tandem.reduce_scatter %g over <"dp"> dim 0 cause "a" {tandem.action = 1 : i64, tandem.layer = 1 : i64} : (!p) -> !s
  %1 = tandem.unary exp, %0 {tandem.action = 1 : i64, tandem.layer = 1 : i64} : !s
  %2 = tandem.unary exp, %x {tandem.action = 1 : i64, tandem.layer = 0 : i64} : !t
  return %2, %1 : !t, !s
}

// -----

// A sum over microbatches is scattered as soon as the last of them has added to
// it, beside what comes then.
!t = tensor<16xf32, #tandem.local<[16], @mesh, [{}]>>
!b = tensor<2x16xf32, #tandem.local<[2, 16], @mesh, [{}, {}]>>
!p = tensor<16xf32, #tandem.local<[16], @mesh, [{}], unreduced={"dp"}>>
!q = tensor<2x16xf32, #tandem.local<[2, 16], @mesh, [{}, {}], unreduced={"dp"}>>
!s = tensor<8xf32, #tandem.local<[16], @mesh, [{"dp"}]>>
tandem.mesh @mesh = <["dp"=2]>
// CHECK-LABEL: func.func @scattered(
// CHECK: tandem.launch "map" ins(%[[SUM:[0-9]+]], {{.*}} outs(%[[SUM]] : {{.*}}tandem.action = 1 : i64, tandem.layer = 1
// CHECK: tandem.record 0 on 0 {tandem.action = 1 : i64, tandem.last, tandem.layer = 1
// CHECK-NEXT: tandem.wait 0 on 1 {tandem.action = 1 : i64, tandem.last
// CHECK-NEXT: tandem.communicate "reduce_scatter" ins(%[[SUM]] {{.*}}stream = 1 : i64, tandem.action = 1 : i64, tandem.last
// CHECK-NEXT: tandem.record 1 on 1 {tandem.action = 1 : i64, tandem.last
// CHECK: tandem.launch "map" {{.*}}tandem.layer = 0
// CHECK: tandem.wait 1 on 0 for({{.*}}) {tandem.action = 1 : i64, tandem.last
// CHECK-NOT: reduce_scatter
func.func @scattered(%x: !b {tandem.input = "x"}, %g: !q {tandem.input = "g"}) -> (!t {tandem.output = "y"}, !s {tandem.output = "z"})
    attributes {tandem.entry = "f", tandem.pp = 0 : i64,
                tandem.actions = ["prologue", "backward.0", "epilogue"], tandem.pools = array<i64: -1, 0, -1>,
                tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 0, 2, 0, 0>} {
  %0 = tandem.microbatch %g {tandem.action = 1 : i64, tandem.layer = 1 : i64} : (!q) -> !p
  %1 = tandem.accumulate %0 {tandem.action = 1 : i64, tandem.layer = 1 : i64} : (!p) -> !p
  %2 = tandem.microbatch %x {tandem.action = 1 : i64, tandem.layer = 0 : i64} : (!b) -> !t
  %3 = tandem.unary exp, %2 {tandem.action = 1 : i64, tandem.layer = 0 : i64} : !t
  %4 = tandem.accumulate %3 {tandem.action = 1 : i64, tandem.layer = 0 : i64} : (!t) -> !t
  %5 = tandem.reduce_scatter %1 over <"dp"> dim 0 cause "a" {tandem.action = 2 : i64, tandem.layer = 1 : i64} : (!p) -> !s
  return %4, %5 : !t, !s
}

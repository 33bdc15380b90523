// RUN: tandem-opt %s --tandem-split-stages -split-input-file | FileCheck %s

// A step of two microbatches on two stages: activations forth, gradients back,
// the parameter of each stage updated where it is, the scalar that depends on
// both summed over pp.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!s = tensor<f32, #tandem.local<[], @mesh, []>>
!b = tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @step.pp0(
// CHECK-SAME:    tandem.aliases = 0 : i64, tandem.parameter = #tandem.view<"w">
// CHECK-NOT:     #tandem.view<"v">
// CHECK-SAME:    tandem.actions = ["prologue", "forward.0", "backward.0", "epilogue"]
// CHECK-SAME:    tandem.pools = array<i64: -1, 0, 0, -1>
// CHECK-SAME:    tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, 1, 3, 0, 0>
// CHECK:         tandem.microbatch {{.*}}tandem.action = 1
// CHECK:         %[[H:.*]] = tandem.binary mul{{.*}}tandem.action = 1
// CHECK-NEXT:    tandem.send %[[H]] to 1 {tandem.action = 1
// CHECK-NEXT:    %[[D:.*]] = tandem.recv from 1 {{.*}}tandem.action = 2 : i64, tandem.backward}
// CHECK-NEXT:    %[[GW:.*]] = tandem.binary mul, {{.*}}, %[[D]] {tandem.action = 2
// CHECK-NEXT:    %[[AW:.*]] = tandem.accumulate %[[GW]] {tandem.action = 2
// CHECK:         %[[NW:.*]] = tandem.reduce sum{{.*}}tandem.action = 3
// CHECK-NEXT:    %[[TERM:.*]] = tandem.cast %[[NW]] {tandem.action = 3 : i64}
// CHECK-SAME:    unreduced={"pp"}
// CHECK-NEXT:    %[[N:.*]] = tandem.all_reduce %[[TERM]] over <"pp"> cause "sum over stages" {tandem.action = 3
// CHECK:         %[[R:.*]] = tandem.broadcast_in_dim %[[N]]
// CHECK:         %[[W:.*]] = tandem.sum %{{.*}}, %[[R]]
// CHECK:         return %[[W]]
// CHECK-LABEL: func.func @step.pp1(
// CHECK-SAME:    tandem.aliases = 1 : i64, tandem.parameter = #tandem.view<"v">
// CHECK:         %[[R1:.*]] = tandem.recv from 0 {tandem.action = 1
// CHECK:         %[[L1:.*]] = tandem.accumulate {{.*}}tandem.action = 1
// CHECK:         %[[D1:.*]] = tandem.binary mul, %{{.*}}, %arg0 {tandem.action = 2
// CHECK-NEXT:    tandem.send %[[D1]] to 0 {{.*}}tandem.action = 2
// CHECK:         tandem.all_reduce
// CHECK:         return %[[L1]], %
func.func @step(%x: !b {tandem.input = "x"},
                %w: !t {tandem.parameter = #tandem.view<"w">, tandem.aliases = 1 : i64},
                %v: !t {tandem.parameter = #tandem.view<"v">, tandem.aliases = 2 : i64})
    -> (!t {tandem.output = "sum"}, !t, !t) {
  %m = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
  %h = tandem.binary mul, %m, %w {tandem.stage = 0 : i64} : !t
  %y = tandem.binary mul, %h, %v {tandem.stage = 1 : i64} : !t
  %sum = tandem.accumulate %y {tandem.stage = 1 : i64} : (!t) -> !t
  %gv = tandem.binary mul, %y, %h {tandem.stage = 1 : i64, tandem.backward} : !t
  %av = tandem.accumulate %gv {tandem.stage = 1 : i64, tandem.backward} : (!t) -> !t
  %d = tandem.binary mul, %y, %v {tandem.stage = 1 : i64, tandem.backward} : !t
  %gw = tandem.binary mul, %m, %d {tandem.stage = 0 : i64, tandem.backward} : !t
  %aw = tandem.accumulate %gw {tandem.stage = 0 : i64, tandem.backward} : (!t) -> !t
  %nw = tandem.reduce sum, %aw [0] {tandem.stage = 0 : i64} : (!t) -> !s
  %nv = tandem.reduce sum, %av [0] {tandem.stage = 1 : i64} : (!t) -> !s
  %n = tandem.sum %nw, %nv {tandem.stage = 0 : i64} : !s
  %r = tandem.broadcast_in_dim %n [] {tandem.stage = 0 : i64} : (!s) -> !t
  %w1 = tandem.sum %w, %r {tandem.stage = 0 : i64} : !t
  %v1 = tandem.sum %v, %r {tandem.stage = 1 : i64} : !t
  return %sum, %w1, %v1 : !t, !t, !t
}

// -----

// Both stages hold the parameter: parts of its gradient are exchanged, each in
// its turn, and added in one order.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!b = tensor<1x4xf32, #tandem.local<[1, 4], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @tied.pp0(
// CHECK:         %[[A:.*]] = tandem.accumulate
// CHECK:         %[[B:.*]] = tandem.recv from 1 {{.*}}tandem.action = 3
// CHECK-NEXT:    tandem.send %[[A]] to 1 {{.*}}tandem.action = 3
// CHECK-NEXT:    %[[G:.*]] = tandem.sum %[[B]], %[[A]]
// CHECK-NEXT:    tandem.sum %{{.*}}, %[[G]]
// CHECK-LABEL: func.func @tied.pp1(
// CHECK:         %[[B:.*]] = tandem.accumulate
// CHECK:         tandem.send %[[B]] to 0 {{.*}}tandem.action = 3
// CHECK-NEXT:    %[[A:.*]] = tandem.recv from 0 {{.*}}tandem.action = 3
// CHECK-NEXT:    %[[G:.*]] = tandem.sum %[[B]], %[[A]]
// CHECK-NEXT:    tandem.sum %{{.*}}, %[[G]]
func.func @tied(%x: !b {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">, tandem.aliases = 0 : i64}) -> !t {
  %m = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
  %h = tandem.binary mul, %m, %w {tandem.stage = 0 : i64} : !t
  %y = tandem.binary mul, %h, %w {tandem.stage = 1 : i64} : !t
  %gb = tandem.binary mul, %y, %h {tandem.stage = 1 : i64, tandem.backward} : !t
  %b = tandem.accumulate %gb {tandem.stage = 1 : i64, tandem.backward} : (!t) -> !t
  %d = tandem.binary mul, %y, %w {tandem.stage = 1 : i64, tandem.backward} : !t
  %ga = tandem.binary mul, %m, %d {tandem.stage = 0 : i64, tandem.backward} : !t
  %a = tandem.accumulate %ga {tandem.stage = 0 : i64, tandem.backward} : (!t) -> !t
  %g = tandem.sum %b, %a {tandem.stage = 0 : i64} : !t
  %w1 = tandem.sum %w, %g {tandem.stage = 0 : i64} : !t
  return %w1 : !t
}

// -----

// What parameters alone give is made by each stage that reads it.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!c = tensor<4xbf16, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @casts.pp0(
// CHECK:         tandem.cast %{{.*}} : (tensor<4xf32
// CHECK:         tandem.send
// CHECK-LABEL: func.func @casts.pp1(
// CHECK:         tandem.cast %{{.*}} : (tensor<4xf32
// CHECK:         tandem.recv from 0
// CHECK-NOT:     tandem.recv
func.func @casts(%x: !c {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> !c {
  %c = tandem.cast %w {tandem.stage = 0 : i64} : (!t) -> !c
  %h = tandem.binary mul, %x, %c {tandem.stage = 0 : i64} : !c
  %y = tandem.binary mul, %h, %c {tandem.stage = 1 : i64} : !c
  return %y : !c
}

// -----

// Split backward: what no other stage and no earlier layer waits for comes
// later, as the schedule says.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!b = tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>
module attributes {tandem.schedule_text = "0: F0 F1 B0 B1 W0 W1\n1: F0 B0 F1 B1 W0 W1\n"} {
  tandem.mesh @mesh = <["pp"=2]>
  // CHECK-LABEL: func.func @split.pp0(
  // CHECK-SAME:    tandem.actions = ["prologue", "forward.0", "backward.0", "weight.0", "epilogue"]
  // CHECK-LABEL: func.func @split.pp1(
  // CHECK-SAME:    tandem.actions = ["prologue", "forward.1", "backward.1", "weight.1", "epilogue"]
  // CHECK-SAME:    tandem.schedule = array<i64: 0, 0, 0, 1, 0, 0, 2, 0, 0, 1, 1, 1, 2, 1, 1, 3, 0, 0, 3, 1, 1, 4, 0, 0>
  // CHECK:         %[[D:.*]] = tandem.binary mul{{.*}}tandem.action = 2
  // CHECK-NEXT:    tandem.send %[[D]]
  // CHECK-NEXT:    %[[G:.*]] = tandem.binary mul{{.*}}tandem.action = 3
  // CHECK-NEXT:    tandem.accumulate %[[G]] {tandem.action = 3
  func.func @split(%x: !b {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}, %v: !t {tandem.parameter = #tandem.view<"v">})
      -> (!t {tandem.output = "gw"}, !t {tandem.output = "gv"}) {
    %m = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
    %h = tandem.binary mul, %m, %w {tandem.stage = 0 : i64} : !t
    %y = tandem.binary mul, %h, %v {tandem.stage = 1 : i64} : !t
    %gv = tandem.binary mul, %y, %h {tandem.stage = 1 : i64, tandem.backward} : !t
    %av = tandem.accumulate %gv {tandem.stage = 1 : i64, tandem.backward} : (!t) -> !t
    %d = tandem.binary mul, %y, %v {tandem.stage = 1 : i64, tandem.backward} : !t
    %gw = tandem.binary mul, %m, %d {tandem.stage = 0 : i64, tandem.backward} : !t
    %aw = tandem.accumulate %gw {tandem.stage = 0 : i64, tandem.backward} : (!t) -> !t
    return %aw, %av : !t, !t
  }
}

// -----

// A sum of what all coordinates know and of one coordinate's scalar is made by
// all: the scalar is summed over pp, the rest is added behind.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!s = tensor<f32, #tandem.local<[], @mesh, []>>
!b = tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=2, "tp"=2]>
// CHECK-LABEL: func.func @known.pp0(
// CHECK:         %[[N:.*]] = tandem.all_reduce %{{.*}} over <"pp">
// CHECK:         %[[R:.*]] = tandem.unary sqrt, %[[N]]
// CHECK:         %[[M:.*]] = tandem.all_reduce %{{.*}} over <"pp">
// CHECK-NEXT:    %[[S:.*]] = tandem.sum %[[M]], %[[R]]
// CHECK:         return %[[S]]
// CHECK-LABEL: func.func @known.pp1(
// CHECK:         tandem.all_reduce %{{.*}} over <"pp">
// CHECK:         %[[Z:.*]] = tandem.constant {{.*}}dense<0.0
// CHECK-NEXT:    tandem.all_reduce %[[Z]] over <"pp">
func.func @known(%x: !b {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> (!s {tandem.output = "y"}) {
  %m = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
  %h = tandem.binary mul, %m, %w {tandem.stage = 0 : i64} : !t
  %y = tandem.binary mul, %h, %w {tandem.stage = 1 : i64} : !t
  %ah = tandem.accumulate %h {tandem.stage = 0 : i64} : (!t) -> !t
  %ay = tandem.accumulate %y {tandem.stage = 1 : i64} : (!t) -> !t
  %nh = tandem.reduce sum, %ah [0] {tandem.stage = 0 : i64} : (!t) -> !s
  %ny = tandem.reduce sum, %ay [0] {tandem.stage = 1 : i64} : (!t) -> !s
  %n = tandem.sum %nh, %ny {tandem.stage = 0 : i64} : !s
  %r = tandem.unary sqrt, %n {tandem.stage = 0 : i64} : !s
  %k = tandem.reduce max, %ah [0] {tandem.stage = 0 : i64} : (!t) -> !s
  %s = tandem.sum %r, %k {tandem.stage = 1 : i64} : !s
  return %s : !s
}

// -----

// Pieces are sent, and put together on the stage that reads the whole.
!p = tensor<2xf32, #tandem.local<[4], @mesh, [{"tp"}]>>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!b = tensor<2x2xf32, #tandem.local<[2, 4], @mesh, [{}, {"tp"}]>>
tandem.mesh @mesh = <["pp"=2, "tp"=2]>
// CHECK-LABEL: func.func @gather.pp0(
// CHECK:         %[[H:.*]] = tandem.binary mul
// CHECK-NEXT:    tandem.send %[[H]] to 1 {{.*}}: tensor<2xf32
// CHECK-NOT:     tandem.all_gather
// CHECK-LABEL: func.func @gather.pp1(
// CHECK:         %[[R:.*]] = tandem.recv from 0
// CHECK-NEXT:    tandem.all_gather %[[R]]
func.func @gather(%x: !b {tandem.input = "x"}, %w: !p {tandem.parameter = #tandem.view<"w">}, %v: !t {tandem.parameter = #tandem.view<"v">}) -> (!t {tandem.output = "y"}) {
  %m = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !p
  %h = tandem.binary mul, %m, %w {tandem.stage = 0 : i64} : !p
  %g = tandem.all_gather %h over <"tp"> dim 0 cause "einsum operand" {tandem.stage = 0 : i64} : (!p) -> !t
  %y = tandem.binary mul, %g, %v {tandem.stage = 1 : i64} : !t
  %a = tandem.accumulate %y {tandem.stage = 1 : i64} : (!t) -> !t
  return %a : !t
}

// -----

// A vector that only scalars are made of is summed over pp like them.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
!s = tensor<f32, #tandem.local<[], @mesh, []>>
!b = tensor<2x4xf32, #tandem.local<[2, 4], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @lanes.pp0(
// CHECK:         %[[V:.*]] = tandem.all_reduce %{{.*}} over <"pp"> cause "sum over stages" {{.*}} -> tensor<4xf32
// CHECK-NEXT:    %[[S:.*]] = tandem.reduce sum, %[[V]] [0]
// CHECK-NEXT:    return %[[S]]
// CHECK-LABEL: func.func @lanes.pp1(
// CHECK:         %[[V:.*]] = tandem.all_reduce %{{.*}} over <"pp">
// CHECK-NOT:     tandem.recv {{.*}}tandem.action = 3
func.func @lanes(%x: !b {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> (!s {tandem.output = "y"}) {
  %m = tandem.microbatch %x {tandem.stage = 0 : i64} : (!b) -> !t
  %h = tandem.binary mul, %m, %w {tandem.stage = 0 : i64} : !t
  %y = tandem.binary mul, %h, %w {tandem.stage = 1 : i64} : !t
  %ah = tandem.accumulate %h {tandem.stage = 0 : i64} : (!t) -> !t
  %ay = tandem.accumulate %y {tandem.stage = 1 : i64} : (!t) -> !t
  %v = tandem.sum %ah, %ay {tandem.stage = 0 : i64} : !t
  %s = tandem.reduce sum, %v [0] {tandem.stage = 0 : i64} : (!t) -> !s
  return %s : !s
}

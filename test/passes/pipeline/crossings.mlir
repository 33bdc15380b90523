// RUN: tandem-opt %s --tandem-split-stages -split-input-file | FileCheck %s

// A value that a later stage needs skips the stages between; a stage takes
// what it needs from several in the order of the senders.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=3]>
// CHECK-LABEL: func.func @skip.pp0(
// CHECK:         %[[A:.*]] = tandem.binary mul
// CHECK-NEXT:    tandem.send %[[A]] to 1
// CHECK-NEXT:    tandem.send %[[A]] to 2
// CHECK-LABEL: func.func @skip.pp1(
// CHECK:         %[[A1:.*]] = tandem.recv from 0
// CHECK-NEXT:    %[[B:.*]] = tandem.unary neg, %[[A1]]
// CHECK-NEXT:    tandem.send %[[B]] to 2
// CHECK-LABEL: func.func @skip.pp2(
// CHECK:         %[[A2:.*]] = tandem.recv from 0
// CHECK-NEXT:    %[[B2:.*]] = tandem.recv from 1
// CHECK-NEXT:    tandem.sum %[[B2]], %[[A2]]
func.func @skip(%x: !t {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">}) -> !t {
  %0 = tandem.binary mul, %x, %w {tandem.stage = 0 : i64} : !t
  %1 = tandem.unary neg, %0 {tandem.stage = 1 : i64} : !t
  %2 = tandem.sum %1, %0 {tandem.stage = 2 : i64} : !t
  return %2 : !t
}

// -----

// A tied parameter has a copy on each of its stages; each stage has the
// states of its own layers.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @tied.pp0(
// CHECK-SAME:    tandem.parameter = #tandem.view<"w">
// CHECK-SAME:    {tandem.aliases = 0 : i64, tandem.state = "a"}) -> tensor<4xf32
// CHECK-LABEL: func.func @tied.pp1(
// CHECK-SAME:    tandem.parameter = #tandem.view<"w">
// CHECK-SAME:    {tandem.aliases = 0 : i64, tandem.state = "b"}
// CHECK-SAME:    {tandem.output = "y"}
func.func @tied(%x: !t {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">},
                %a: !t {tandem.state = "a", tandem.aliases = 0 : i64},
                %b: !t {tandem.state = "b", tandem.aliases = 1 : i64}) -> (!t, !t, !t {tandem.output = "y"}) {
  %0 = tandem.binary mul, %x, %w {tandem.stage = 0 : i64} : !t
  %1 = tandem.sum %0, %a {tandem.stage = 0 : i64} : !t
  %2 = tandem.binary mul, %1, %w {tandem.stage = 1 : i64} : !t
  %3 = tandem.sum %2, %b {tandem.stage = 1 : i64} : !t
  return %1, %3, %2 : !t, !t, !t
}

// -----

// What every stage must know is broadcast over pp from where it is made.
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
tandem.mesh @mesh = <["pp"=2]>
// CHECK-LABEL: func.func @everywhere.pp0(
// CHECK:         %[[Z:.*]] = tandem.constant dense<0.0
// CHECK-NEXT:    %[[B:.*]] = tandem.broadcast %[[Z]] over <"pp"> root 1 cause "output"
// CHECK-NEXT:    return %[[B]]
// CHECK-LABEL: func.func @everywhere.pp1(
// CHECK:         %[[V:.*]] = tandem.unary neg
// CHECK-NEXT:    %[[C:.*]] = tandem.broadcast %[[V]] over <"pp"> root 1 cause "output"
// CHECK-NEXT:    return %[[C]]
func.func @everywhere(%x: !t {tandem.input = "x"}, %w: !t {tandem.parameter = #tandem.view<"w">})
    -> (!t {tandem.output = "y", tandem.everywhere}) {
  %0 = tandem.binary mul, %x, %w {tandem.stage = 0 : i64} : !t
  %1 = tandem.unary neg, %0 {tandem.stage = 1 : i64} : !t
  return %1 : !t
}

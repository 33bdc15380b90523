// RUN: tandem-opt %s | tandem-opt | FileCheck %s

// The operations of phases 2 to 4.

tandem.mesh @mesh = <["pp"=2, "x"=2, "y"=2]>

!whole   = tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}]>>
!rows    = tensor<4x6xf32, #tandem.local<[8, 6], @mesh, [{"x"}, {}]>>
!columns = tensor<8x3xf32, #tandem.local<[8, 6], @mesh, [{}, {"x"}]>>
!terms   = tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"x"}>>
!maxima  = tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"x"}, max>>
!xy      = tensor<2x6xf32, #tandem.local<[8, 6], @mesh, [{"x", "y"}, {}]>>
!yx      = tensor<2x6xf32, #tandem.local<[8, 6], @mesh, [{"y", "x"}, {}]>>

// CHECK-LABEL: func.func @collectives
func.func @collectives(%terms: !terms, %maxima: !maxima, %rows: !rows, %whole: !whole, %xy: !xy) {
  // CHECK: tandem.all_reduce %{{.*}} over <"x"> cause "sum" : (tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"x"}>>) -> tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}]>>
  %0 = tandem.all_reduce %terms over <"x"> cause "sum" : (!terms) -> !whole
  // CHECK: tandem.all_reduce %{{.*}} over <"x"> cause "max" : (tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"x"}, max>>)
  %1 = tandem.all_reduce %maxima over <"x"> cause "max" : (!maxima) -> !whole
  // CHECK: tandem.all_gather %{{.*}} over <"x"> dim 0 cause "output"
  %2 = tandem.all_gather %rows over <"x"> dim 0 cause "output" : (!rows) -> !whole
  // CHECK: tandem.reduce_scatter %{{.*}} over <"x"> dim 1 cause "sum"
  %3 = tandem.reduce_scatter %terms over <"x"> dim 1 cause "sum" : (!terms) -> !columns
  // CHECK: tandem.all_to_all %{{.*}} over <"x"> from 0 to 1 cause "einsum"
  %4 = tandem.all_to_all %rows over <"x"> from 0 to 1 cause "einsum" : (!rows) -> !columns
  // CHECK: tandem.all_slice %{{.*}} over <"x"> dim 0 cause "einsum"
  %5 = tandem.all_slice %whole over <"x"> dim 0 cause "einsum" : (!whole) -> !rows
  // CHECK: tandem.permute %{{.*}} over <"x", "y"> cause "einsum"
  %6 = tandem.permute %xy over <"x", "y"> cause "einsum" : (!xy) -> !yx
  // CHECK: tandem.broadcast %{{.*}} over <"pp"> root 1 cause "output"
  %7 = tandem.broadcast %whole over <"pp"> root 1 cause "output" : (!whole) -> !whole
  return
}

// An operand that is not reduced yet has another type than its factor.
// CHECK-LABEL: func.func @scale
func.func @scale(%terms: !terms, %factor: !whole) -> !terms {
  // CHECK: tandem.binary mul, %{{.*}}, %{{.*}} : (tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"x"}>>, tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}]>>) -> tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"x"}>>
  %0 = tandem.binary mul, %terms, %factor : (!terms, !whole) -> !terms
  return %0 : !terms
}

// CHECK-LABEL: func.func @stages
func.func @stages(%x: !rows) {
  // CHECK: tandem.send %{{.*}} to 1 : tensor<4x6xf32
  tandem.send %x to 1 : !rows
  // CHECK: tandem.recv from 0 : tensor<4x6xf32
  %0 = tandem.recv from 0 : !rows
  return
}

// CHECK-LABEL: func.func @buffers
func.func @buffers() {
  // CHECK: tandem.alloc {offset = 4096 : i64} : <tensor<2x6xf32>>
  %0 = tandem.alloc {offset = 4096 : i64} : <tensor<2x6xf32>>
  %1 = tandem.alloc : <tensor<2x6xf32>>
  // CHECK: tandem.launch "map" ins(%{{.*}} : !tandem.buffer<tensor<2x6xf32>>) outs(%{{.*}} : !tandem.buffer<tensor<2x6xf32>>) {numbers = array<i64: 0, 0, 11, 0>, rule = #tandem.rule<"([i, j]) -> ([i, j]) {i=2, j=6}">}
  tandem.launch "map" ins(%0 : !tandem.buffer<tensor<2x6xf32>>) outs(%1 : !tandem.buffer<tensor<2x6xf32>>) {numbers = array<i64: 0, 0, 11, 0>, rule = #tandem.rule<"([i, j]) -> ([i, j]) {i=2, j=6}">}
  // CHECK: tandem.communicate "all_reduce" ins(%{{.*}} : !tandem.buffer<tensor<2x6xf32>>) outs(%{{.*}} : !tandem.buffer<tensor<2x6xf32>>) {axes = #tandem.axes<"x">, cause = "sum"}
  tandem.communicate "all_reduce" ins(%0 : !tandem.buffer<tensor<2x6xf32>>) outs(%1 : !tandem.buffer<tensor<2x6xf32>>) {axes = #tandem.axes<"x">, cause = "sum"}
  return
}

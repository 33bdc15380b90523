// RUN: tandem-opt %s --tandem-lower-to-exec -split-input-file | FileCheck %s

// Which dimensions are cut follows from global sizes: the first ones that a
// product sums over, until there are as many lanes as pieces.
!x = tensor<1x8x24xf32, #tandem.local<[2, 8, 48], @mesh, [{"dp"}, {}, {"tp"}]>>
!y = tensor<1x8x6xf32, #tandem.local<[2, 8, 6], @mesh, [{"dp"}, {}, {}]>>
!w = tensor<24x6xf32, #tandem.local<[48, 6], @mesh, [{"tp"}, {}]>>
!part = tensor<1x8x6xf32, #tandem.local<[2, 8, 6], @mesh, [{"dp"}, {}, {}], unreduced={"tp"}>>
!grad = tensor<24x6xf32, #tandem.local<[48, 6], @mesh, [{"tp"}, {}], unreduced={"dp"}>>
!ids = tensor<1x8xi32, #tandem.local<[2, 8], @mesh, [{"dp"}, {}]>>
!table = tensor<9x24xf32, #tandem.local<[9, 48], @mesh, [{}, {"tp"}], unreduced={"dp"}>>
!dw = tensor<6xf32, #tandem.local<[6], @mesh, [{}], unreduced={"dp"}>>
!weight = tensor<6xf32, #tandem.local<[6], @mesh, [{}]>>
!most = tensor<8x6xf32, #tandem.local<[8, 6], @mesh, [{}, {}], unreduced={"dp"}, max>>
!count = tensor<i32, #tandem.local<[], @mesh, [], unreduced={"dp"}>>
!rows = tensor<3x6xbf16, #tandem.local<[6, 6], @mesh, [{"tp"}, {}]>>
!all = tensor<2x8xi32, #tandem.local<[2, 8], @mesh, [{}, {}]>>
!few = tensor<3x6xbf16, #tandem.local<[12, 6], @mesh, [{"dp", "tp"}, {}]>>
!both = tensor<2x8x6xbf16, #tandem.local<[2, 8, 6], @mesh, [{}, {}, {}], unreduced={"dp", "tp"}>>
!tp = tensor<2x8x6xbf16, #tandem.local<[2, 8, 6], @mesh, [{}, {}, {}], unreduced={"tp"}>>
!none = tensor<2x8x6xbf16, #tandem.local<[2, 8, 6], @mesh, [{}, {}, {}]>>
!found = tensor<1x8x6xbf16, #tandem.local<[2, 8, 6], @mesh, [{"dp"}, {}, {}], unreduced={"tp"}>>
!sum = tensor<1x8x6xbf16, #tandem.local<[2, 8, 6], @mesh, [{"dp"}, {}, {}]>>
module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["dp"=2, "tp"=2]>
// The factors are b, s, d, f: d is bit 2, b and s bits 0 and 1.
// CHECK-LABEL: func.func @products
// CHECK: tandem.launch "einsum" {{.*}}numbers = array<i64: 4, 4>
// CHECK: tandem.launch "einsum" {{.*}}numbers = array<i64: 4, 3>
func.func @products(%x: !x, %y: !y, %w: !w) -> (!part, !grad) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.einsum "bsd,df->bsf" %x, %w : (!x, !w) -> !part
  %1 = tandem.einsum "bsd,bsf->df" %x, %y : (!x, !y) -> !grad
  return %0, %1 : !part, !grad
}

// Rows by the dimensions of the first input. Gradients of attention have a
// flag; maxima, integers and rows that one rank owns have nothing.
// CHECK-LABEL: func.func @rows
// CHECK: tandem.launch "embedding_grad" {{.*}}numbers = array<i64: 4, 3>
// CHECK: tandem.launch "rms_norm_grad" {{.*}}numbers = array<i64: {{[0-9]+}}, 0, 4, 3>
// CHECK: tandem.launch "reduce" {{.*}}numbers = array<i64: 1>
// CHECK: tandem.launch "reduce" {{.*}}numbers = array<i64: 0>
func.func @rows(%i: !ids, %x: !x, %y: !y, %w: !weight) -> (!table, !y, !dw, !most, !count) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.embedding_grad %i, %x : (!ids, !x) -> !table
  %dx, %dw = tandem.rms_norm_grad %y, %w, %y {epsilon = 1.0e-5 : f64} : (!y, !weight, !y) -> (!y, !dw)
  %1 = tandem.reduce max, %y [0] : (!y) -> !most
  %2 = tandem.reduce sum, %i [0, 1] : (!ids) -> !count
  return %0, %dx, %dw, %1, %2 : !table, !y, !dw, !most, !count
}

// Zeros and one value are a sum that no order changes: also in a narrow type,
// and one axis after another.
// CHECK-LABEL: func.func @owned
// CHECK: tandem.launch "embedding" {{.*}}numbers = array<i64>
// CHECK: tandem.communicate "all_reduce"
// CHECK: tandem.launch "embedding"
// CHECK: tandem.communicate "all_reduce" {{.*}}axes = #tandem.axes<"dp">
// CHECK: tandem.communicate "all_reduce" {{.*}}axes = #tandem.axes<"tp">
func.func @owned(%i: !ids, %t: !rows, %j: !all, %u: !few) -> (!sum, !none) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.embedding %t, %i : (!rows, !ids) -> !found
  %1 = tandem.all_reduce %0 over <"tp"> cause "reduction of embedding" : (!found) -> !sum
  %2 = tandem.embedding %u, %j : (!few, !all) -> !both
  %3 = tandem.all_reduce %2 over <"dp"> cause "reduction of embedding" : (!both) -> !tp
  %4 = tandem.all_reduce %3 over <"tp"> cause "reduction of embedding" : (!tp) -> !none
  return %1, %4 : !sum, !none
}
}

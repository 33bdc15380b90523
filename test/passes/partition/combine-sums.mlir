// RUN: tandem-opt %s --tandem-combine-collectives | FileCheck %s

tandem.mesh @mesh = <["tp"=2, "x"=2]>

!rows  = tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {}]>>
!whole = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}]>>
!terms = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}], unreduced={"tp"}>>
!xterms = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}], unreduced={"x"}>>
!maxima = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}], unreduced={"tp"}, max>>

// The same of one value is done once; the first cause stays.
// CHECK-LABEL: func.func @same
// CHECK-NEXT:    %[[G:.*]] = tandem.all_gather %arg0 over <"tp"> dim 0 cause "a"
// CHECK-NEXT:    return %[[G]], %[[G]]
func.func @same(%x: !rows) -> (!whole, !whole) {
  %0 = tandem.all_gather %x over <"tp"> dim 0 cause "a" : (!rows) -> !whole
  %1 = tandem.all_gather %x over <"tp"> dim 0 cause "b" : (!rows) -> !whole
  return %0, %1 : !whole, !whole
}

// Of other values it is not.
// CHECK-LABEL: func.func @other
// CHECK-COUNT-2: tandem.all_gather
func.func @other(%x: !rows, %y: !rows) -> (!whole, !whole) {
  %0 = tandem.all_gather %x over <"tp"> dim 0 cause "a" : (!rows) -> !whole
  %1 = tandem.all_gather %y over <"tp"> dim 0 cause "b" : (!rows) -> !whole
  return %0, %1 : !whole, !whole
}

// all_reduce(a) + all_reduce(b) + c becomes all_reduce(a + b) + c.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT:    %[[S:.*]] = tandem.sum %arg0, %arg1
// CHECK-NEXT:    %[[R:.*]] = tandem.all_reduce %[[S]] over <"tp"> cause "a"
// CHECK-NEXT:    %[[T:.*]] = tandem.sum %[[R]], %arg2
// CHECK-NEXT:    return %[[T]]
func.func @sums(%a: !terms, %b: !terms, %c: !whole) -> !whole {
  %0 = tandem.all_reduce %a over <"tp"> cause "a" : (!terms) -> !whole
  %1 = tandem.all_reduce %b over <"tp"> cause "b" : (!terms) -> !whole
  %2 = tandem.sum %0, %1, %c : !whole
  return %2 : !whole
}

// CHECK-LABEL: func.func @onlyTerms
// CHECK-NEXT:    %[[S:.*]] = tandem.sum %arg0, %arg1
// CHECK-NEXT:    %[[R:.*]] = tandem.all_reduce %[[S]]
// CHECK-NEXT:    return %[[R]]
func.func @onlyTerms(%a: !terms, %b: !terms) -> !whole {
  %0 = tandem.all_reduce %a over <"tp"> cause "a" : (!terms) -> !whole
  %1 = tandem.all_reduce %b over <"tp"> cause "b" : (!terms) -> !whole
  %2 = tandem.sum %0, %1 : !whole
  return %2 : !whole
}

// Not where another needs a reduced term too (%b is reduced once for both), not
// over other axes, and a maximum
// is no sum.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-5: tandem.all_reduce
// CHECK-NOT:     tandem.all_reduce
// CHECK:         return
func.func @apart(%a: !terms, %b: !terms, %x: !xterms, %m: !maxima, %n: !maxima) -> (!whole, !whole, !whole, !whole) {
  %0 = tandem.all_reduce %a over <"tp"> cause "a" : (!terms) -> !whole
  %1 = tandem.all_reduce %b over <"tp"> cause "b" : (!terms) -> !whole
  %2 = tandem.sum %0, %1 : !whole
  %3 = tandem.all_reduce %x over <"x"> cause "x" : (!xterms) -> !whole
  %4 = tandem.all_reduce %b over <"tp"> cause "c" {tandem.layer = 1 : i64} : (!terms) -> !whole
  %5 = tandem.sum %3, %4 : !whole
  %6 = tandem.all_reduce %m over <"tp"> cause "m" : (!maxima) -> !whole
  %7 = tandem.all_reduce %n over <"tp"> cause "n" : (!maxima) -> !whole
  %8 = tandem.sum %6, %7 : !whole
  return %0, %2, %5, %8 : !whole, !whole, !whole, !whole
}

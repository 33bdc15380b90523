// RUN: tandem-opt %s --tandem-combine-collectives -split-input-file | FileCheck %s

!piece = tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {}]>>
!whole = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @twice
// CHECK: %[[G:.*]] = tandem.all_gather
// CHECK-NOT: tandem.all_gather
// CHECK: return %[[G]], %[[G]]
func.func @twice(%x: !piece) -> (!whole, !whole) {
  %0 = tandem.all_gather %x over <"tp"> dim 0 cause "a" : (!piece) -> !whole
  %1 = tandem.all_gather %x over <"tp"> dim 0 cause "b" : (!piece) -> !whole
  return %0, %1 : !whole, !whole
}

// -----

!terms = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}], unreduced={"tp"}>>
!whole = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @added
// CHECK: %[[S:.*]] = tandem.sum %{{.*}}, %{{.*}} : tensor<4x8xf32, {{.*}}unreduced={"tp"}>>
// CHECK: %[[R:.*]] = tandem.all_reduce %[[S]]
// CHECK: return %[[R]]
func.func @added(%x: !terms, %y: !terms) -> !whole {
  %0 = tandem.all_reduce %x over <"tp"> cause "a" : (!terms) -> !whole
  %1 = tandem.all_reduce %y over <"tp"> cause "b" : (!terms) -> !whole
  %2 = tandem.sum %0, %1 : !whole
  return %2 : !whole
}

// -----

// Different values stay apart.
!piece = tensor<2x8xf32, #tandem.local<[4, 8], @mesh, [{"tp"}, {}]>>
!whole = tensor<4x8xf32, #tandem.local<[4, 8], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @different
// CHECK-COUNT-2: tandem.all_gather
func.func @different(%x: !piece, %y: !piece) -> (!whole, !whole) {
  %0 = tandem.all_gather %x over <"tp"> dim 0 cause "a" : (!piece) -> !whole
  %1 = tandem.all_gather %y over <"tp"> dim 0 cause "a" : (!piece) -> !whole
  return %0, %1 : !whole, !whole
}

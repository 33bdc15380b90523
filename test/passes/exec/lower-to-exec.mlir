// RUN: tandem-opt %s --tandem-lower-to-exec -split-input-file | FileCheck %s

tandem.mesh @mesh = <["tp"=2]>
// Operations become launches into buffers of their own.
// CHECK-LABEL: func.func @launch(
// CHECK-SAME: %[[X:.*]]: !tandem.buffer<
// CHECK: %[[Y:.*]] = tandem.alloc
// CHECK: tandem.launch "map" ins(%[[X]] : {{.*}}) outs(%[[Y]] :
// CHECK: return %[[Y]]
!t = tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {}]>>
func.func @launch(%x: !t) -> !t attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.unary exp, %x : !t
  return %0 : !t
}

// -----

// A reshape that moves nothing renames a buffer.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @rename
// CHECK: tandem.rename
// CHECK-NOT: tandem.launch
func.func @rename(%x: tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {}]>>) -> tensor<24xf32, #tandem.local<[24], @mesh, [{}]>> attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.reshape %x : (tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {}]>>) -> tensor<24xf32, #tandem.local<[24], @mesh, [{}]>>
  return %0 : tensor<24xf32, #tandem.local<[24], @mesh, [{}]>>
}

// -----

// A collective keeps its axes and its cause.
!terms = tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {}], unreduced={"tp"}>>
!whole = tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {}]>>
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @reduce
// CHECK: tandem.communicate "all_reduce" {{.*}}axes = #tandem.axes<"tp">, cause = "reduction of einsum"
func.func @reduce(%x: !terms) -> !whole attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.all_reduce %x over <"tp"> cause "reduction of einsum" : (!terms) -> !whole
  return %0 : !whole
}

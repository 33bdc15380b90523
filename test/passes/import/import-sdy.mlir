// RUN: tandem-opt %s --split-input-file --allow-unregistered-dialect \
// RUN:   --tandem-import-sdy | FileCheck %s

// Every part of the notation, on arguments, results and between operations
// that stay as they are.

// CHECK:       tandem.mesh @mesh = <["dp"=2, "tp"=4]>
// CHECK-NOT:   sdy.
// CHECK-LABEL: func.func @parts
// CHECK-SAME{LITERAL}: %arg0: tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {?}]>}
// CHECK-SAME{LITERAL}: %arg1: tensor<8x8xf32> {some.word = 1 : i64, tandem.sharding = #tandem.sharding<@mesh, [{"tp":(2)2, ?}p1, {"tp":(1)2}], replicated={"dp"}>}
// CHECK-SAME{LITERAL}: %arg2: tensor<f32> {tandem.sharding = #tandem.sharding<@mesh, [], unreduced={"dp", "tp"}>}
// CHECK-SAME:          %arg3: tensor<4xi32>)
// CHECK-SAME{LITERAL}: -> (tensor<8x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp", "tp"}, {}]>}, tensor<8x8xf32>)
"sdy.mesh"() <{mesh = #sdy.mesh<["dp"=2, "tp"=4]>, sym_name = "mesh"}> {some.copy = 1 : i64} : () -> ()
func.func @parts(
    %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}p0, {?}]>},
    %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"tp":(2)2, ?}p1, {"tp":(1)2}], replicated={"dp"}>, some.word = 1 : i64},
    %c: tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, [], unreduced={"dp", "tp"}>},
    %d: tensor<4xi32>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp", "tp"}, {}]>}, tensor<8x8xf32>) {
  // CHECK:      %[[ADD:.*]] = "other.add"(%arg0, %arg1) <{kind = #other<kind plain>}>
  // CHECK-NEXT{LITERAL}: tandem.sharding_constraint
  // CHECK-SAME{LITERAL}: {sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>, tandem.layer = 3 : i64} : tensor<8x8xf32>
  %0 = "other.add"(%a, %b) <{kind = #other<kind plain>}> : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>}> {tandem.layer = 3 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT{LITERAL}: tandem.sharding_constraint %arg1 {sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>} : tensor<8x8xf32>
  %2 = "sdy.reshard"(%b) <{sharding = #sdy.sharding<@mesh, [{}, {"tp"}]>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// What an operation says of its results; a result of which it says nothing
// gets no constraint, and uses come behind the constraint.

// CHECK-LABEL: func.func @results
// CHECK:       %[[TWO:.*]]:2 = "other.two"(%arg0) : (tensor<4xf32>)
// CHECK-NEXT{LITERAL}: tandem.sharding_constraint
// CHECK-SAME:  %[[TWO]]#1 {sharding
// CHECK-NEXT:  "other.use"(%[[TWO]]#0, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> ()
// CHECK-NOT:   sdy
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "grid"}> : () -> ()
func.func @results(%a: tensor<4xf32>) {
  %0:2 = "other.two"(%a) {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{?}]>, <@grid, [{"x"}]>]>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  "other.use"(%0#0, %0#1) {sdy.sharding = #sdy.sharding_per_value<[]>} : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}

// -----

// Meshes of equal axes are one, whatever their names; one without axes is the
// module's; devices in their own order need no word.

// CHECK:       tandem.mesh @a = <["x"=2, "y"=2]>
// CHECK-NOT:   mesh @
// CHECK-LABEL: func.func private @meshes
// CHECK-SAME{LITERAL}: #tandem.sharding<@a, [{"x"}]>
// CHECK-SAME{LITERAL}: #tandem.sharding<@a, [{"y"}]>
// CHECK-SAME{LITERAL}: #tandem.sharding<@a, [{}]>
// CHECK-SAME{LITERAL}: #tandem.sharding<@a, [{"x", "y"}]>
"sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "empty_mesh"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[0]>, sym_name = "maximal_mesh_0"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=2]>, sym_name = "a"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=2], device_ids=[0, 1, 2, 3]>, sym_name = "b"}> : () -> ()
func.func private @meshes(
    tensor<4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>},
    tensor<4xf32> {sdy.sharding = #sdy.sharding<@b, [{"y"}]>},
    tensor<4xf32> {sdy.sharding = #sdy.sharding<@empty_mesh, [{}]>},
    tensor<4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2, "y"=2]>, [{"x", "y"}]>})

// -----

// A mesh that only shardings write out.

// CHECK:       tandem.mesh @mesh = <["x"=2]>
// CHECK-LABEL: func.func private @written
// CHECK-SAME{LITERAL}: #tandem.sharding<@mesh, [{"x"}]>
func.func private @written(tensor<4xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>})

// -----

// Our operations, annotated in Shardy's words on our mesh.

// CHECK:       tandem.mesh @mesh = <["x"=2]>
// CHECK-LABEL: func.func @ours
// CHECK-SAME{LITERAL}: #tandem.sharding<@mesh, [{"x"}]>
// CHECK:       tandem.unary exp
tandem.mesh @mesh = <["x"=2]>
func.func @ours(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = tandem.unary exp, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Nothing of Shardy's, no mesh.

// CHECK-LABEL: func.func @none
// CHECK-NOT:   mesh
func.func @none(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

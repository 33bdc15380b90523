// RUN: tandem-opt %s --split-input-file --allow-unregistered-dialect \
// RUN:   --tandem-import-sdy --verify-diagnostics

"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "a"}> : () -> ()
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "b"}> : () -> ()
// expected-error @+1 {{the mesh is #tandem.mesh<["x"=4]>, the module's @a is #tandem.mesh<["x"=2]>; expected one mesh in a module}}
func.func private @two_meshes(tensor<4xf32> {sdy.sharding = #sdy.sharding<@b, [{"x"}]>})

// -----

"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2], device_ids=[1, 0]>, sym_name = "a"}> : () -> ()
// expected-error @+1 {{the mesh's device_ids are [1, 0], expected devices in row-major order; order the axes so that the last is the nearest}}
func.func private @order(tensor<4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>})

// -----

"sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[3]>, sym_name = "a"}> : () -> ()
// expected-error @+1 {{lies on one device alone, 3, expected a sharding over a mesh's axes}}
func.func private @maximal(tensor<4xf32> {sdy.sharding = #sdy.sharding<@a, []>})

// -----

"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "a"}> : () -> ()
// expected-error @+1 {{unknown mesh @b, expected an sdy.mesh or tandem.mesh of that name}}
func.func private @unknown_mesh(tensor<4xf32> {sdy.sharding = #sdy.sharding<@b, [{"x"}]>})

// -----

"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "a"}> : () -> ()
// expected-error @+1 {{argument 0 'tandem.sharding': unknown axis "y"}}
func.func private @unknown_axis(tensor<4xf32> {sdy.sharding = #sdy.sharding<@a, [{"y"}]>})

// -----

"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "a"}> : () -> ()
// expected-error @+1 {{Shardy's sharding: cannot read '#tandem.sharding<@a, [{"x"}], partial={"x"}>': expected 'replicated' or 'unreduced'}}
func.func private @unknown_word(tensor<4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}], partial={"x"}>})

// -----

// expected-error @+1 {{Shardy's sharding: cannot read '"x", [{}]', expected a mesh's name or mesh<...>}}
func.func private @no_mesh(tensor<4xf32> {sdy.sharding = #sdy.sharding<"x", [{}]>})

// -----

// expected-error @+1 {{Shardy's sharding: cannot read '1 : i64', expected #sdy.sharding<...>}}
func.func private @no_sharding(tensor<4xf32> {sdy.sharding = 1 : i64})

// -----

tandem.mesh @a = <["x"=2]>
// expected-error @+1 {{has 'sdy.sharding' beside 'tandem.sharding', expected one of them}}
func.func private @both(tensor<4xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>, tandem.sharding = #tandem.sharding<@a, [{"x"}]>})

// -----

// expected-error @+1 {{has no 'sym_name', expected the mesh's name}}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>}> : () -> ()

// -----

// expected-error @+1 {{attribute 'mesh': cannot read '#tandem.mesh<["x"=0]>': axis "x" has size 0, expected at least 1}}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=0]>, sym_name = "a"}> : () -> ()

// -----

// expected-error @+1 {{attribute 'mesh': cannot read '["x"=2], ranks=[0, 1]', expected axes, then device_ids=[...]}}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2], ranks=[0, 1]>, sym_name = "a"}> : () -> ()

// -----

// expected-error @+1 {{attribute 'mesh': cannot read '["x"=2], device_ids=["0"]', expected numbers as device_ids}}
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2], device_ids=["0"]>, sym_name = "a"}> : () -> ()

// -----

// expected-error @+1 {{attribute 'mesh': cannot read '2 : i64', expected #sdy.mesh<...>}}
"sdy.mesh"() <{mesh = 2 : i64, sym_name = "a"}> : () -> ()

// -----

func.func @counts(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'sdy.sharding' has 1 shardings, expected one for each of 2 results}}
  %0:2 = "other.two"(%a) {sdy.sharding = #sdy.sharding_per_value<[<@a, [{}]>]>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @per_value(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'sdy.sharding': cannot read '#sdy.sharding<@a, [{}]>', expected #sdy.sharding_per_value<[...]>}}
  %0 = "other.one"(%a) {sdy.sharding = #sdy.sharding<@a, [{}]>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @many(%a: tensor<4xf32>) {
  // expected-error @+1 {{has 2 operands and 1 results, expected a constraint of one value}}
  %0 = "sdy.sharding_constraint"(%a, %a) <{sharding = #sdy.sharding<@a, [{}]>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @group(%a: tensor<4xf32>) {
  // expected-error @+1 {{has no counterpart, expected of Shardy's operations only sdy.mesh, sdy.sharding_constraint and sdy.reshard}}
  "sdy.sharding_group"(%a) <{group_id = 0 : i64}> : (tensor<4xf32>) -> ()
  return
}

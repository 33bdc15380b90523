// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// mesh 1: axis names are unique.
// expected-error @below {{axis "tp" is named twice}}
tandem.mesh @mesh = <["tp"=2, "tp"=2]>

// -----

// mesh 2: sizes are at least 1.
// expected-error @below {{axis "tp" has size 0, expected at least 1}}
tandem.mesh @mesh = <["tp"=0]>

// -----

// sharding 1: `@mesh` names a tandem.mesh.
// expected-error @below {{'func.func' op argument 0 'tandem.sharding': unknown mesh @mesh, expected a tandem.mesh of that name in the module}}
func.func @no_mesh(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}]>}) {
  return
}

// -----

// sharding 2: there are as many dimensions as the tensor has.
tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{'func.func' op argument 0 'tandem.sharding': sharding has 2 dimensions, the tensor has 1}}
func.func @dimensions(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}) {
  return
}

// -----

// sharding 3: every axis and part exists in the mesh.
tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{'func.func' op argument 0 'tandem.sharding': unknown axis "dp"; the mesh is tp=2}}
func.func @unknown_axis(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}]>}) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{'func.func' op argument 0 'tandem.sharding': axis "tp":(1)3 is no part of an axis of size 4}}
func.func @unknown_part(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(1)3}]>}) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{is no part of an axis of size 4}}
func.func @part_of_nothing(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp":(0)2}]>}) {
  return
}

// -----

// sharding 4: no position of an axis is used twice.
tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{'func.func' op argument 0 'tandem.sharding': axis "tp":(2)2 is used twice}}
func.func @used_twice(%x: tensor<4x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {"tp":(2)2}]>}) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{'func.func' op argument 0 'tandem.sharding': expected a ranked tensor to shard}}
func.func @not_a_tensor(%x: f32 {tandem.sharding = #tandem.sharding<@mesh, []>}) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{'func.func' op result 0 'tandem.sharding': sharding has 0 dimensions, the tensor has 1}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, []>}) {
  return %x : tensor<4xf32>
}

// -----

tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{expected a priority such as p1}}
func.func @priority(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}q1]>}) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
// expected-error @below {{expected 'replicated' or 'unreduced'}}
func.func @keyword(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}], reduced={"tp"}>}) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
func.func @constraint(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.sharding_constraint' op sharding: unknown axis "dp"; the mesh is tp=4}}
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{"dp"}]>} : tensor<4xf32>
  return
}

// -----

tandem.mesh @mesh = <["tp"=4]>
func.func @shardings_count(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.unary' op attribute 'tandem.shardings': expected one sharding for each result}}
  %0 = tandem.unary exp, %x {tandem.shardings = []} : tensor<4xf32>
  return
}

// -----

func.func @shardings_kind(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.unary' op attribute 'tandem.shardings': expected shardings, got 1 : i64}}
  %0 = tandem.unary exp, %x {tandem.shardings = [1]} : tensor<4xf32>
  return
}

// -----

func.func @layer(%x: tensor<4xf32>) {
  // expected-error @below {{'tandem.unary' op attribute 'tandem.layer': expected an integer, got "first"}}
  %0 = tandem.unary exp, %x {tandem.layer = "first"} : tensor<4xf32>
  return
}

// -----

// Views.
// expected-error @below {{view of "w" has steps but no stored shape}}
func.func @view_shape(%x: tensor<4xf32> {tandem.parameter = #tandem.view<"w", transpose(0)>}) {
  return
}

// -----

// expected-error @below {{view of "w" has the unknown step 'reverse', expected slice, split, heads, kv_heads or transpose}}
func.func @view_step(%x: tensor<4xf32> {tandem.parameter = #tandem.view<"w"[4], reverse(0)>}) {
  return
}

// -----

// expected-error @below {{view of "w": step 'slice(0, 2, 5)' does not fit the dimensions before it}}
func.func @view_slice(%x: tensor<3xf32> {tandem.parameter = #tandem.view<"w"[4], slice(0, 2, 5)>}) {
  return
}

// -----

// expected-error @below {{view of "w": step 'split(0, 3, 2)' does not fit the dimensions before it}}
func.func @view_split(%x: tensor<3xf32> {tandem.parameter = #tandem.view<"w"[4], split(0, 3, 2)>}) {
  return
}

// -----

// expected-error @below {{view of "w": step 'heads(0, 0, 0, 0)' does not fit the dimensions before it}}
func.func @view_heads(%x: tensor<3xf32> {tandem.parameter = #tandem.view<"w"[4], heads(0, 0, 0, 0)>}) {
  return
}

// -----

// expected-error @below {{view of "w": step 'split(0, 0, 0)' does not fit the dimensions before it}}
func.func @view_empty(%x: tensor<3xf32> {tandem.parameter = #tandem.view<"w"[0], split(0, 0, 0)>}) {
  return
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.parameter': expected a view, got "w"}}
func.func @view_kind(%x: tensor<4xf32> {tandem.parameter = "w"}) {
  return
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.parameter': the view has shape [4, 2], the tensor has [2, 4]}}
func.func @view_result(%x: tensor<2x4xf32> {tandem.parameter = #tandem.view<"w"[2, 4], transpose(1, 0)>}) {
  return
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.parameter': expected a tensor, got 'f32'}}
func.func @view_of_no_tensor(%x: f32 {tandem.parameter = #tandem.view<"w">}) {
  return
}

// -----

// expected-error @below {{'func.func' op argument 0 'tandem.aliases': expected a result below 1, got 1 : i64}}
func.func @aliases(%x: tensor<4xf32> {tandem.state = "s", tandem.aliases = 1 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{view of "w": the stored shape [4611686018427387904, 4] is negative or has too many elements}}
func.func @view_overflow(%x: tensor<4xf32> {tandem.parameter = #tandem.view<"w"[4611686018427387904, 4]>}) {
  return
}

// -----

// expected-error @below {{view of "w": step 'split(0, 4294967296, 4294967296)' does not fit the dimensions before it}}
func.func @view_split_overflow(%x: tensor<4xf32> {tandem.parameter = #tandem.view<"w"[0], split(0, 4294967296, 4294967296)>}) {
  return
}

// -----

// expected-error @below {{mesh 'tp=65536,dp=65536': axis 'dp' of size 65536 makes more than 2^31 ranks}}
tandem.mesh @mesh = <["tp"=65536, "dp"=65536]>

// -----

// expected-error @below {{mesh 't p=2': 't p' is no axis name}}
tandem.mesh @mesh = <["t p"=2]>

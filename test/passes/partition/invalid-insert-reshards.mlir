// RUN: tandem-opt %s --tandem-insert-reshards -split-input-file -verify-diagnostics

tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{argument 0 has no 'tandem.sharding'; run propagate-shardings first}}
func.func @f(%x: tensor<4xf32>) {
  return
}

// -----

tandem.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}]>}) {
  // expected-error @below {{has no 'tandem.choice'; run propagate-shardings first}}
  %0 = tandem.unary exp, %x : tensor<4xf32>
  return
}

// -----

tandem.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}]>}) {
  // expected-error @below {{has no 'tandem.shardings'; run propagate-shardings first}}
  %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{"tp"}]>, tandem.choice = {factors = [#tandem.axes<"tp">]}} : tensor<4xf32>
  return
}

// -----

// What was chosen cannot be: nothing makes a whole tensor unreduced.
tandem.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}]>}) {
  // expected-error @below {{needs f32[4] [{}], unreduced={"tp"} of what lies as f32[4] [{}]: no collectives lead there}}
  %0 = tandem.unary neg, %x {tandem.choice = {factors = [#tandem.axes<>], unreduced = [#tandem.axes<"tp">]}} : tensor<4xf32>
  return
}

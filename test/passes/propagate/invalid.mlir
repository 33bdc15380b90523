// RUN: tandem-opt %s --tandem-propagate-shardings -split-input-file -verify-diagnostics

// expected-error @below {{no tandem.mesh in the module}}
module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// What is local already has been partitioned before.
tandem.mesh @mesh = <["tp"=2]>
func.func @f(%x: tensor<2xf32, #tandem.local<[4], @mesh, [{"tp"}]>>) {
  // expected-error @below {{has no sharding rule: expected an operation on global tensors}}
  %0 = tandem.all_gather %x over <"tp"> dim 0 cause "a" : (tensor<2xf32, #tandem.local<[4], @mesh, [{"tp"}]>>) -> tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
  return
}

// -----

// Nothing makes terms of a whole tensor.
// expected-error-re @below {{no way to lay the tensors out: {{.*}}'tandem.sum at }}
module {
  tandem.mesh @mesh = <["tp"=2]>
  func.func @f(%x: tensor<4x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
               %y: tensor<4x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>})
      -> (tensor<4x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}], unreduced={"tp"}>}) {
    %0 = tandem.sum %x, %y : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

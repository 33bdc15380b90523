// An unreduced argument that is returned as it is.
// seed: 119
module {
  tandem.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<f64> {tandem.input = "a1", tandem.sharding = #tandem.sharding<@mesh, [], unreduced={"x"}>}) -> (tensor<f64> {tandem.output = "y4"}) {
    return %arg0 : tensor<f64>
  }
}

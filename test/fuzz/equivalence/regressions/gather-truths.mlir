// Truth values gathered from a split dimension: they have no sum.
// seed: 343
module {
  tandem.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<1x1xi1> {tandem.input = "a0", tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<1x1xi32> {tandem.input = "a1"}) -> (tensor<1x1xi1> {tandem.output = "y0"}) {
    %0 = tandem.gather %arg0, %arg1 {batch_dims = 1 : i64, dim = 1 : i64} : (tensor<1x1xi1>, tensor<1x1xi32>) -> tensor<1x1xi1>
    return %0 : tensor<1x1xi1>
  }
}

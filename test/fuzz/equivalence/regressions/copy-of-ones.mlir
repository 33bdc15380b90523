// A copy of a tensor whose dimensions of 1 are split.
// seed: 51
module {
  tandem.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<1xi32> {tandem.input = "a4", tandem.sharding = #tandem.sharding<@mesh, [{"x"}]>}, %arg1: tensor<1xi32> {tandem.input = "a5"}, %arg2: tensor<1x1x1x1xf64> {tandem.input = "r3"}) -> (tensor<1x1x1x1xf64> {tandem.output = "y1"}) {
    %0 = tandem.update_slice %arg2, %arg2, %arg0, %arg1 : (tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x1x1x1xf64>
    return %0 : tensor<1x1x1x1xf64>
  }
}

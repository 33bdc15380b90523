// A state whose dimension of 1 is split by a part of an axis.
// seed: 306
module {
  tandem.mesh @mesh = <["x"=8]>
  func.func @f(%arg0: tensor<1x1xi64> {tandem.aliases = 0 : i64, tandem.sharding = #tandem.sharding<@mesh, [{}, {"x":(1)2}]>, tandem.state = "a3"}, %arg1: tensor<1x1xi64> {tandem.input = "a4"}, %arg2: tensor<1xi32> {tandem.input = "a5"}, %arg3: tensor<1xi32> {tandem.input = "a6"}) -> tensor<1x1xi64> {
    %0 = tandem.update_slice %arg0, %arg1, %arg2, %arg3 : (tensor<1x1xi64>, tensor<1x1xi64>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x1xi64>
    return %0 : tensor<1x1xi64>
  }
}

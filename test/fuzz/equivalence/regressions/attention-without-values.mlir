// Ranks that hold no lane of the values, whose keys are all here.
// seed: 978
module {
  tandem.mesh @mesh = <["x"=8]>
  func.func @f(%arg0: tensor<1x1x2x1x1xf64> {tandem.input = "a1"}, %arg1: tensor<1x1x2x1xf64> {tandem.input = "a2"}, %arg2: tensor<1x1x2x1xf64> {tandem.input = "a3", tandem.sharding = #tandem.sharding<@mesh, [{"x":(2)2}, {}, {}, {}]>}, %arg3: tensor<1xi32> {tandem.input = "a4"}, %arg4: tensor<1x2x2x1xf64> {tandem.input = "a5"}, %arg5: tensor<1x2x2x1xf64> {tandem.input = "a6", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {}, {"x":(2)4}]>}, %arg6: tensor<1xi32> {tandem.input = "a7"}) -> (tensor<1x1x2x1xf64> {tandem.output = "y2", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}, {}]>}) {
    %result, %lse = tandem.attention %arg0, %arg1, %arg2, %arg3 {causal, scale = 5.000000e-01 : f64} : (tensor<1x1x2x1x1xf64>, tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>, tensor<1xi32>) -> (tensor<1x1x2x1x1xf64>, tensor<1x1x2x1xf64>)
    %result_0, %lse_1 = tandem.attention %result, %arg4, %arg5, %arg6 {scale = 5.000000e-01 : f64} : (tensor<1x1x2x1x1xf64>, tensor<1x2x2x1xf64>, tensor<1x2x2x1xf64>, tensor<1xi32>) -> (tensor<1x1x2x1x1xf64>, tensor<1x1x2x1xf64>)
    return %lse_1 : tensor<1x1x2x1xf64>
  }
}

// seed: 756
module {
  tandem.mesh @mesh = <["y"=2]>
  func.func @f(%arg0: tensor<1xf64> {tandem.input = "a1", tandem.sharding = #tandem.sharding<@mesh, [{"y"}]>}, %arg1: tensor<1xf64> {tandem.input = "r3"}, %arg2: tensor<1x1xf64> {tandem.input = "r4"}, %arg3: tensor<1x1x1xf64> {tandem.input = "r5"}) -> (tensor<1x1x1xf64> {tandem.output = "y2"}) {
    %0 = tandem.einsum "abc,b->ca" %arg3, %arg0 : (tensor<1x1x1xf64>, tensor<1xf64>) -> tensor<1x1xf64>
    %input_gradient, %weight_gradient = tandem.rms_norm_grad %0, %arg1, %arg2 {epsilon = 1.000000e-01 : f64} : (tensor<1x1xf64>, tensor<1xf64>, tensor<1x1xf64>) -> (tensor<1x1xf64>, tensor<1xf64>)
    %1 = tandem.broadcast_in_dim %weight_gradient [1] : (tensor<1xf64>) -> tensor<1x1x1xf64>
    return %1 : tensor<1x1x1xf64>
  }
}


// seed: 940
module {
  tandem.mesh @mesh = <["x"=8]>
  func.func @f(%arg0: tensor<1xf64> {tandem.input = "a0", tandem.sharding = #tandem.sharding<@mesh, [{"x":(1)2}]>}) -> (tensor<1x1xf64> {tandem.output = "y1", tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = tandem.broadcast_in_dim %arg0 [1] {tandem.layer = 0 : i64} : (tensor<1xf64>) -> tensor<1x1xf64>
    %1 = tandem.silu %0 {tandem.layer = 0 : i64} : tensor<1x1xf64>
    return %1 : tensor<1x1xf64>
  }
}


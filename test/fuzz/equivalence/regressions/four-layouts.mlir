// An argument that is wanted in four layouts at once.
// seed: 501875
module {
  tandem.mesh @mesh = <["x"=2, "y"=2, "w"=2]>
  func.func @f(%arg0: tensor<1x1x1xf64> {tandem.input = "a1", tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}, {"x"}]>}, %arg1: tensor<1x1xf64> {tandem.input = "a2"}, %arg2: tensor<1x1x1xi32> {tandem.input = "a5"}) -> (tensor<1x1x1xf64> {tandem.output = "y0"}, tensor<1x1x1xf64> {tandem.output = "y2", tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}, {}]>}, tensor<1x1x1xf64> {tandem.output = "y5"}, tensor<1x1x1xf64> {tandem.output = "y6"}, tensor<1x1xf64> {tandem.output = "y8"}) {
    %0 = tandem.einsum "abc,cd->bda" %arg0, %arg1 : (tensor<1x1x1xf64>, tensor<1x1xf64>) -> tensor<1x1x1xf64>
    %values, %indices = tandem.top_k %arg0 payload %arg2 : (tensor<1x1x1xf64>, tensor<1x1x1xi32>) -> (tensor<1x1x1xf64>, tensor<1x1x1xi32>)
    %1 = tandem.sharding_constraint %arg0 {sharding = #tandem.sharding<@mesh, [{}, {}, {}]>} : tensor<1x1x1xf64>
    %2 = tandem.sharding_constraint %arg1 {sharding = #tandem.sharding<@mesh, [{"w", "x"}, {"y"}]>} : tensor<1x1xf64>
    return %0, %values, %arg0, %1, %2 : tensor<1x1x1xf64>, tensor<1x1x1xf64>, tensor<1x1x1xf64>, tensor<1x1x1xf64>, tensor<1x1xf64>
  }
}

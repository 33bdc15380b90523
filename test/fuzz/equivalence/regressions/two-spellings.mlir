// One layout spelled as an axis and as its parts.
// seed: 596
module {
  tandem.mesh @mesh = <["y"=6]>
  func.func @f(%arg0: tensor<1x6xi32> {tandem.input = "a0"}, %arg1: tensor<1x6xi32> {tandem.input = "a1", tandem.sharding = #tandem.sharding<@mesh, [{}, {"y":(1)2, ?}]>}, %arg2: tensor<6xi32> {tandem.input = "a8"}, %arg3: tensor<i32> {tandem.input = "r4"}) -> (tensor<1x6xi32> {tandem.output = "y1", tandem.sharding = #tandem.sharding<@mesh, [{}, {"y"}]>}, tensor<1x6xi32> {tandem.output = "y5"}) {
    %0 = tandem.sum %arg0, %arg0, %arg1 : tensor<1x6xi32>
    %1 = tandem.scatter_add %arg1, %arg3, %arg2 {batch_dims = 0 : i64, dim = 0 : i64} : (tensor<1x6xi32>, tensor<i32>, tensor<6xi32>) -> tensor<1x6xi32>
    return %0, %1 : tensor<1x6xi32>, tensor<1x6xi32>
  }
}

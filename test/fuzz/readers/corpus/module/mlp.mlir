tandem.mesh @mesh = <["pp"=2, "tp"=2]>
func.func @mlp(
    %x: tensor<2x4xf32> {tandem.input = "x", tandem.sharding = #tandem.sharding<@mesh, [{}, {?}]>},
    %up: tensor<4x6xf32> {tandem.parameter = #tandem.view<"up"[6, 4], transpose(1, 0)>, tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
    %down: tensor<6x4xf32> {tandem.parameter = #tandem.view<"down">})
    -> (tensor<2x4xf32> {tandem.output = "y"}) {
  %0 = tandem.einsum "bd,df->bf" %x, %up {tandem.layer = 0 : i64} : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %1 = tandem.gelu %0 {approximate = #tandem.gelu<tanh>, tandem.layer = 0 : i64} : tensor<2x6xf32>
  %2 = tandem.einsum "bf,fd->bd" %1, %down {tandem.layer = 1 : i64} : (tensor<2x6xf32>, tensor<6x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

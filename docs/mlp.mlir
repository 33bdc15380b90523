tandem.mesh @mesh = <["tp"=4]>
func.func @mlp(
    %x: tensor<8x128x768xf32> {tandem.input = "x", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {}]>},
    %up: tensor<768x3072xf32> {tandem.parameter = #tandem.view<"up.weight">,
                               tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
    %down: tensor<3072x768xf32> {tandem.parameter = #tandem.view<"down.weight">})
    -> (tensor<8x128x768xf32> {tandem.output = "y"}) {
  %0 = tandem.einsum "bsd,df->bsf" %x, %up : (tensor<8x128x768xf32>, tensor<768x3072xf32>) -> tensor<8x128x3072xf32>
  %1 = tandem.gelu %0 {approximate = #tandem.gelu<tanh>} : tensor<8x128x3072xf32>
  %2 = tandem.einsum "bsf,fd->bsd" %1, %down : (tensor<8x128x3072xf32>, tensor<3072x768xf32>) -> tensor<8x128x768xf32>
  return %2 : tensor<8x128x768xf32>
}

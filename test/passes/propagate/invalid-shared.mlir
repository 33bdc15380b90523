// RUN: tandem-opt %s --tandem-propagate-shardings --verify-diagnostics -o /dev/null

tandem.mesh @mesh = <["tp"=2]>
func.func @prefill(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">, tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
// expected-error @below {{argument 0 has #tandem.sharding<@mesh, [{}]>, the same parameter or state elsewhere #tandem.sharding<@mesh, [{"tp"}]>; annotate them alike or one of them alone}}
func.func @decode(%w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">, tandem.sharding = #tandem.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

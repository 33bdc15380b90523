// RUN: tandem-opt %s --tandem-propagate-shardings --verify-diagnostics -o /dev/null

tandem.mesh @mesh = <["tp"=2]>
// expected-error @below {{argument 0 has #tandem.sharding<@mesh, [{"tp"}]>, the result that replaces it #tandem.sharding<@mesh, [{}]>}}
func.func @f(%s: tensor<4xf32> {tandem.state = "s", tandem.aliases = 0 : i64, tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>})
    -> (tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}]>}) {
  %0 = tandem.unary exp, %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}

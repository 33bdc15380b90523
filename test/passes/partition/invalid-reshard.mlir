// RUN: tandem-opt %s --tandem-partition-module --verify-diagnostics -o /dev/null

tandem.mesh @mesh = <["tp"=2]>
func.func @impossible(%x: tensor<4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  // expected-error @below {{'tandem.reshard' op cannot bring f32[4] [{}] to f32[4] [{}], unreduced={"tp"}}}
  %0 = tandem.reshard %x {cause = "test", sharding = #tandem.sharding<@mesh, [{}], unreduced={"tp"}>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

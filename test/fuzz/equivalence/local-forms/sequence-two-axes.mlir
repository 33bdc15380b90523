// Tokens of a sequence of 11 split: positions, masks, caches and slices are global.
// inputs: seed 2
module {
  tandem.mesh @mesh = <["x"=2, "y"=3]>
  func.func @f(%ids: tensor<2x11xi32> {tandem.input = "ids", tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}]>}, %table: tensor<13x12xf64> {tandem.input = "t", tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}]>}, %wq: tensor<3x2x4x12xf64> {tandem.input = "wq"}, %wk: tensor<3x4x12xf64> {tandem.input = "wk"}, %mask: tensor<2x11xi32> {tandem.input = "m"}, %positions: tensor<2xi32> {tandem.input = "p"}, %c: tensor<2x17x3x4xf64> {tandem.input = "c", tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}, {}, {}]>}, %n: tensor<2xi32> {tandem.input = "n"}) -> (tensor<2x1x3x2x4xf64> {tandem.output = "y0"}, tensor<2x4x12xf64> {tandem.output = "y1"}, tensor<2x11x3x2x4xf64> {tandem.output = "y2", tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>}, tensor<2x17x3x4xf64> {tandem.output = "y3", tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
    %x = tandem.embedding %table, %ids : (tensor<13x12xf64>, tensor<2x11xi32>) -> tensor<2x11x12xf64>
    %q0 = tandem.einsum "bsd,kghd->bskgh" %x, %wq : (tensor<2x11x12xf64>, tensor<3x2x4x12xf64>) -> tensor<2x11x3x2x4xf64>
    %q = tandem.rope %q0, %positions {style = #tandem.rope<interleaved>, frequencies = array<f64: 1.0, 0.1>} : (tensor<2x11x3x2x4xf64>, tensor<2xi32>) -> tensor<2x11x3x2x4xf64>
    %k0 = tandem.einsum "bsd,khd->bskh" %x, %wk : (tensor<2x11x12xf64>, tensor<3x4x12xf64>) -> tensor<2x11x3x4xf64>
    %k = tandem.rope %k0, %positions {style = #tandem.rope<interleaved>, frequencies = array<f64: 1.0, 0.1>} : (tensor<2x11x3x4xf64>, tensor<2xi32>) -> tensor<2x11x3x4xf64>
    %y, %lse = tandem.attention %q, %k, %k0, %positions mask %mask {causal, scale = 0.5 : f64, window = 5 : i64} : (tensor<2x11x3x2x4xf64>, tensor<2x11x3x4xf64>, tensor<2x11x3x4xf64>, tensor<2xi32>, tensor<2x11xi32>) -> (tensor<2x11x3x2x4xf64>, tensor<2x11x3x2xf64>)
    %last = tandem.slice %y [0, 10, 0, 0, 0] step [1, 1, 1, 1, 1] : (tensor<2x11x3x2x4xf64>) -> tensor<2x1x3x2x4xf64>
    %some = tandem.slice %x [0, 1, 0] step [1, 3, 1] : (tensor<2x11x12xf64>) -> tensor<2x4x12xf64>
    %u = tandem.update_slice %c, %k, %positions, %n : (tensor<2x17x3x4xf64>, tensor<2x11x3x4xf64>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x17x3x4xf64>
    return %last, %some, %y, %u : tensor<2x1x3x2x4xf64>, tensor<2x4x12xf64>, tensor<2x11x3x2x4xf64>, tensor<2x17x3x4xf64>
  }
}

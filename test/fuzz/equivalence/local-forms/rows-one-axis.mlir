// Norms, softmax, top_k and slices over a split dimension of 29.
// inputs: seed 6
module {
  tandem.mesh @mesh = <["x"=4]>
  func.func @f(%x: tensor<2x3x29xf64> {tandem.input = "x", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, %w: tensor<29xf64> {tandem.input = "w", tandem.sharding = #tandem.sharding<@mesh, [{"x"}]>}, %b: tensor<29xf64> {tandem.input = "b"}) -> (tensor<2x3x29xf64> {tandem.output = "y0", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, tensor<2x3x29xf64> {tandem.output = "y1", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, tensor<2x3x29xf64> {tandem.output = "y2", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, tensor<2x3x2xf64> {tandem.output = "y3"}, tensor<2x3x2xi32> {tandem.output = "y4"}, tensor<2x3x4xf64> {tandem.output = "y5"}, tensor<2x3x1xf64> {tandem.output = "y6"}) {
    %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64, weight_offset = 1.0 : f64} : (tensor<2x3x29xf64>, tensor<29xf64>) -> tensor<2x3x29xf64>
    %1 = tandem.layer_norm %0, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x3x29xf64>, tensor<29xf64>, tensor<29xf64>) -> tensor<2x3x29xf64>
    %2 = tandem.softmax %1 : tensor<2x3x29xf64>
    %3 = tandem.layer_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x3x29xf64>, tensor<29xf64>) -> tensor<2x3x29xf64>
    %v, %i = tandem.top_k %x : (tensor<2x3x29xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>)
    %s = tandem.slice %2 [0, 0, 3] step [1, 1, 7] : (tensor<2x3x29xf64>) -> tensor<2x3x4xf64>
    %l = tandem.slice %3 [0, 0, 28] step [1, 1, 1] : (tensor<2x3x29xf64>) -> tensor<2x3x1xf64>
    return %1, %2, %3, %v, %i, %s, %l : tensor<2x3x29xf64>, tensor<2x3x29xf64>, tensor<2x3x29xf64>, tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3x4xf64>, tensor<2x3x1xf64>
  }
}

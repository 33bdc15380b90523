// Losses, norms' and tables' gradients over a split dimension of 29.
// inputs: seed 5
module {
  tandem.mesh @mesh = <["x"=4]>
  func.func @f(%x: tensor<2x3x29xf64> {tandem.input = "x", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, %w: tensor<29xf64> {tandem.input = "w", tandem.sharding = #tandem.sharding<@mesh, [{"x"}]>}, %labels: tensor<2x3xi32> {tandem.input = "l"}, %dy: tensor<2x3x29xf64> {tandem.input = "dy"}, %g: tensor<2x3xf64> {tandem.input = "g"}, %row: tensor<2x3x4xf64> {tandem.input = "row"}, %ids: tensor<2x3xi32> {tandem.input = "ids"}) -> (tensor<2x3xf64> {tandem.output = "y0"}, tensor<2x3xf64> {tandem.output = "y1"}, tensor<2x3x29xf64> {tandem.output = "y2", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, tensor<2x3x29xf64> {tandem.output = "y3", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, tensor<29xf64> {tandem.output = "y4"}, tensor<2x3x29xf64> {tandem.output = "y5", tandem.sharding = #tandem.sharding<@mesh, [{}, {}, {"x"}]>}, tensor<29xf64> {tandem.output = "y6", tandem.sharding = #tandem.sharding<@mesh, [{"x"}]>}, tensor<29xf64> {tandem.output = "y7"}, tensor<29x4xf64> {tandem.output = "y8", tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {}]>}) {
    %loss, %lse = tandem.cross_entropy %x, %labels {ignored = 7 : i64} : (tensor<2x3x29xf64>, tensor<2x3xi32>) -> (tensor<2x3xf64>, tensor<2x3xf64>)
    %dx = tandem.cross_entropy_grad %x, %labels, %lse, %g {ignored = 7 : i64} : (tensor<2x3x29xf64>, tensor<2x3xi32>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3x29xf64>
    %r:2 = tandem.rms_norm_grad %x, %w, %dy {epsilon = 1.0e-5 : f64, weight_offset = 1.0 : f64} : (tensor<2x3x29xf64>, tensor<29xf64>, tensor<2x3x29xf64>) -> (tensor<2x3x29xf64>, tensor<29xf64>)
    %n:3 = tandem.layer_norm_grad %r#0, %w, %dy {epsilon = 1.0e-5 : f64} : (tensor<2x3x29xf64>, tensor<29xf64>, tensor<2x3x29xf64>) -> (tensor<2x3x29xf64>, tensor<29xf64>, tensor<29xf64>)
    %t = tandem.embedding_grad %ids, %row : (tensor<2x3xi32>, tensor<2x3x4xf64>) -> tensor<29x4xf64>
    return %loss, %lse, %dx, %r#0, %r#1, %n#0, %n#1, %n#2, %t : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3x29xf64>, tensor<2x3x29xf64>, tensor<29xf64>, tensor<2x3x29xf64>, tensor<29xf64>, tensor<29xf64>, tensor<29x4xf64>
  }
}

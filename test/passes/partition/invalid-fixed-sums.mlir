// RUN: tandem-opt %s --tandem-propagate-shardings --tandem-insert-reshards -split-input-file -verify-diagnostics=only-expected -o /dev/null

// The statistics of a norm would be sums of the layout's.
module attributes {tandem.layout_invariant = 2 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @norm(%x: tensor<3x20xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}, %w: tensor<20xf32>)
    -> (tensor<3x20xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) {
  // expected-error @below {{looks at 20 lanes together, which the layout splits; with --layout-invariant 2 they must be whole: take a mesh or annotations that do not split them}}
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<3x20xf32>, tensor<20xf32>) -> tensor<3x20xf32>
  return %0 : tensor<3x20xf32>
}
}

// -----

// What only moves lanes may be split.
module attributes {tandem.layout_invariant = 2 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @moves(%x: tensor<20xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>})
    -> (tensor<10xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}]>}) {
  %0 = tandem.slice %x [5] step [1] : (tensor<20xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
}

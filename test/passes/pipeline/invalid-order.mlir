// RUN: tandem-opt %s --tandem-split-stages --verify-diagnostics

// Values go from earlier stages to later ones only.
tandem.mesh @mesh = <["pp"=2]>
func.func @back(%x: tensor<4xf32, #tandem.local<[4], @mesh, [{}]>> {tandem.input = "x"},
                %w: tensor<4xf32, #tandem.local<[4], @mesh, [{}]>> {tandem.parameter = #tandem.view<"w">})
    -> (tensor<4xf32, #tandem.local<[4], @mesh, [{}]>> {tandem.output = "y"}) {
  %0 = tandem.sum %x, %w {tandem.stage = 1 : i64} : tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
  // expected-error @+1 {{on stage 0 needs a value of stage 1, expected one of an earlier stage}}
  %1 = tandem.sum %0, %w {tandem.stage = 0 : i64} : tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
  return %1 : tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
}

// RUN: tandem-opt %s --tandem-partition 2>/dev/null | FileCheck %s

// Axes of one rank leave no trace: no collective and no such axis in a type.
tandem.mesh @mesh = <["tp"=1, "pp"=1]>

// CHECK-LABEL: func.func @mlp
// CHECK-NOT:     "tp"
// CHECK-NOT:     all_reduce
// CHECK:         return
func.func @mlp(%x: tensor<4x8xf32>,
               %up: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
               %down: tensor<16x8xf32>, %w: tensor<8xf32>)
    -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>}) {
  %0 = tandem.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = tandem.einsum "bf,fd->bd" %0, %down : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %2 = tandem.rms_norm %1, %w {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

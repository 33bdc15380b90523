// RUN: tandem-opt %s --tandem-partition 2>/dev/null | FileCheck %s

// From one split to another that uses the same axes on other dimensions: two
// exchanges of 1,536 and 1,024 bytes, and the sum is formed before it moves.
tandem.mesh @mesh = <["x"=4, "y"=2]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[S:.*]] = tandem.sum
// CHECK-NEXT:    %[[X:.*]] = tandem.all_to_all %[[S]] over <"x"> from 2 to 1 cause "sharding_constraint"
// CHECK-NEXT:    %[[Y:.*]] = tandem.all_to_all %[[X]] over <"y"> from 0 to 1 cause "sharding_constraint"
// CHECK-NEXT:    tandem.sum %arg2, %[[Y]]
// CHECK-NEXT:    return
func.func @main(
    %a: tensor<16x16x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}, {"x"}]>},
    %b: tensor<16x16x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}, {"x"}]>},
    %c: tensor<16x16x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"x", "y"}, {}]>})
    -> (tensor<16x16x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"x", "y"}, {}]>}) {
  %0 = tandem.sum %a, %b : tensor<16x16x16xf32>
  %1 = tandem.sharding_constraint %0 {sharding = #tandem.sharding<@mesh, [{}, {"x", "y"}, {}]>} : tensor<16x16x16xf32>
  %2 = tandem.sum %c, %1 : tensor<16x16x16xf32>
  return %2 : tensor<16x16x16xf32>
}

// RUN: tandem-opt %s --tandem-propagate-shardings="open-ops=false open-ops=false" 2>/dev/null | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: tandem-opt %s --tandem-propagate-shardings="open-ops=false user-priorities=false" 2>/dev/null | FileCheck %s --check-prefixes=CHECK,EQUAL
// RUN: tandem-opt %s --tandem-propagate-shardings="open-ops=false aggressive=false" 2>/dev/null | FileCheck %s --check-prefixes=CHECK,BASIC
// RUN: tandem-opt %s --tandem-propagate-shardings="open-ops=false op-priorities=false" 2>/dev/null | FileCheck %s --check-prefixes=CHECK,TEXT

// The rungs below the last, which decides what these leave open.

tandem.mesh @mesh = <["x"=2, "y"=2]>

// What priority 0 says spreads first; without priorities both meet, and
// the first in the text has it.
// CHECK-LABEL: func.func @priorities(
// ALL:   tandem.sum {{.*}}[#tandem.sharding<@mesh, [{"y"}, {}]>]
// EQUAL: tandem.sum {{.*}}[#tandem.sharding<@mesh, [{"x"}, {}]>]
func.func @priorities(%a: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"x"}p1, {}]>},
                      %b: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}]>}) -> tensor<4x8xf32> {
  %0 = tandem.sum %a, %b : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Two factors claim x: the basic rung leaves the result alone.
// CHECK-LABEL: func.func @aggressive(
// ALL:   tandem.unary exp, {{.*}}[#tandem.sharding<@mesh, [{"x"}, {}]>]
// BASIC: tandem.unary exp, {{.*}}[#tandem.sharding<@mesh, [{}, {}]>]
func.func @aggressive(%a: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {}]>},
                      %b: tensor<8x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x4xf32> {
  %0 = tandem.einsum "ab,bc->ac" %a, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = tandem.unary exp, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// The element-wise chain is asked before the product that comes first in the
// text.
// CHECK-LABEL: func.func @operations(
// ALL:  tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{"y"}, {}]>]
// TEXT: tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{"x"}, {}]>]
func.func @operations(%a: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {}]>},
                      %b: tensor<8x4xf32>,
                      %c: tensor<4x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"y"}, {}]>}) -> tensor<4x4xf32> {
  %0 = tandem.einsum "ab,bc->ac" %a, %b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = tandem.sum %0, %c : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

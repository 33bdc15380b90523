// RUN: tandem-opt %s --tandem-propagate-shardings --split-input-file --verify-diagnostics -o /dev/null

// What tensors of one operation cannot agree on is told, with both places.

tandem.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @differ(
    // expected-note@+1 {{the first is here}}
    %x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
    // expected-note@+1 {{the second is here}}
    %y: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>}) {
  // expected-remark@+1 {{tensors do not agree on a factor: {"tp"} against {"dp"}}}
  %0 = tandem.sum %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Two factors claim one axis.
tandem.mesh @mesh = <["tp"=2]>
func.func @claim(
    %x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
    // expected-note@+1 {{the first is here}}
    %w: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x16xf32> {
  // expected-remark@+2 {{tensors do not agree on a factor: {"tp"} against {}}}
  // expected-note@+1 {{the second is here}}
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// Agreement is silent.
tandem.mesh @mesh = <["tp"=2]>
func.func @agree(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                 %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tandem.sum %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

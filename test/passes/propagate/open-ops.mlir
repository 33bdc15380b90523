// RUN: tandem-opt %s --tandem-propagate-shardings --split-input-file --verify-diagnostics=only-expected | FileCheck %s

// Where annotations leave a choice, bytes decide; a remark says what each
// alternative moves.

// Gathering half of %x (two rows of 32 bytes) moves 64 bytes, bringing %y from
// "dp" to "tp" and the result back 64 each.
tandem.mesh @mesh = <["dp"=2, "tp"=2]>
// CHECK-LABEL: func.func @differ
// CHECK: tandem.sum {{.*}}[#tandem.sharding<@mesh, [{"dp"}, {}]>]
func.func @differ(
    // expected-note@+1 {{operand 0 lies as [{"tp"}, {}] and is needed as [{"dp"}, {}]}}
    %x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
    %y: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"dp"}, {}]>}) {
  // expected-remark@+1 {{open: i={"dp"} moves 64 bytes; i={"tp"} would move 128}}
  %0 = tandem.sum %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Two factors claim one axis. Gathering the activation moves 64 bytes; the
// weight would be 256, and the result is used by columns.
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @claim
// CHECK: tandem.einsum {{.*}}{tandem.choice = {factors = [#tandem.axes<>, #tandem.axes<>, #tandem.axes<"tp">]}, tandem.shardings = [#tandem.sharding<@mesh, [{}, {"tp"}]>]}
func.func @claim(
    // expected-note@+1 {{operand 0 lies as [{"tp"}, {}] and is needed as [{}, {}]}}
    %x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
    %w: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>})
    -> (tensor<4x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) {
  // expected-remark@+1 {{open: k={"tp"} moves 64 bytes; i={"tp"} would move 320}}
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

// The same with a small weight: 16 rows of 32 bytes are dearer to gather (256,
// and 64 for the result that is wanted by rows) than 8 columns of 16 (64).
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @small_weight
// CHECK: tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{"tp"}, {}]>]
func.func @small_weight(
    %x: tensor<16x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
    // expected-note@+1 {{operand 1 lies as [{}, {"tp"}] and is needed as [{}, {}]}}
    %w: tensor<8x4xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<16x4xf32> {
  // expected-remark@+1 {{open: i={"tp"} moves 64 bytes; k={"tp"} would move 320}}
  %0 = tandem.einsum "bd,df->bf" %x, %w : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// Three products share %x: gathered once (192 bytes) it serves all, though each
// of them alone would rather gather its weight (128). One that
// does while the others do not moves 192 + 128, and 96 for its result.
tandem.mesh @mesh = <["tp"=2]>
#columns = #tandem.sharding<@mesh, [{}, {"tp"}]>
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-3: tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{}, {"tp"}]>]
func.func @shared(
    // expected-note@+1 {{operand 0 lies as [{"tp"}, {}] and is needed as [{}, {}]}}
    %x: tensor<12x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
    %q: tensor<8x8xf32> {tandem.sharding = #columns},
    %k: tensor<8x8xf32> {tandem.sharding = #columns},
    %v: tensor<8x8xf32> {tandem.sharding = #columns}) -> (tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  // expected-remark@+1 {{open: k={"tp"} moves 192 bytes; i={"tp"} would move 416}}
  %0 = tandem.einsum "bd,df->bf" %x, %q : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  // expected-remark@+1 {{open: k={"tp"} moves 192 bytes; i={"tp"} would move 416}}
  %1 = tandem.einsum "bd,df->bf" %x, %k : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  // expected-remark@+1 {{open: k={"tp"} moves 192 bytes; i={"tp"} would move 416}}
  %2 = tandem.einsum "bd,df->bf" %x, %v : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  return %0, %1, %2 : tensor<12x8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

// Two partial terms of a sum are added first and reduced once: half of what
// two reductions move.
tandem.mesh @mesh = <["tp"=2]>
#rows = #tandem.sharding<@mesh, [{"tp"}, {}]>
// CHECK-LABEL: func.func @added_first
// CHECK: tandem.sum {{.*}}first = array<i32: 0, 2>
func.func @added_first(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"}]>},
                       %a: tensor<8x8xf32> {tandem.sharding = #rows},
                       %b: tensor<8x8xf32> {tandem.sharding = #rows},
                       %r: tensor<4x8xf32>) -> (tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {}]>}) {
  %0 = tandem.einsum "bd,df->bf" %x, %a : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tandem.einsum "bd,df->bf" %x, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-remark@+1 {{open: operand 0 unreduced over {"tp"} operand 2 unreduced over {"tp"}, added first moves 128 bytes}}
  %2 = tandem.sum %0, %r, %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Agreement is silent.
tandem.mesh @mesh = <["tp"=2]>
func.func @agree(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"tp"}, {}]>},
                 %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tandem.sum %x, %y : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Whoever annotates with more axes than anyone would gets all of them.
tandem.mesh @mesh = <["a"=2, "b"=2, "c"=2, "d"=2, "e"=2]>
// CHECK-LABEL: func.func @many_axes
// CHECK-SAME: %{{.*}}: tensor<64x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"a", "b", "c", "d", "e"}, {}]>}
// CHECK: tandem.silu {{.*}}[#tandem.sharding<@mesh, [{"a", "b", "c", "d", "e"}, {}]>]
func.func @many_axes(
    %x: tensor<64x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"a", "b", "c", "d", "e"}, {}]>})
    -> (tensor<64x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{"a", "b", "c", "d", "e"}, {}]>}) {
  %0 = tandem.silu %x : tensor<64x8xf32>
  return %0 : tensor<64x8xf32>
}

// -----

// Results and an open product want %x, which is whole, in six layouts. An
// all_to_all of the product moves half of 8192 bytes, gathering %w 8192.
tandem.mesh @mesh = <["a"=2, "b"=2]>
#r = #tandem.sharding<@mesh, [{}, {}]>
#0 = #tandem.sharding<@mesh, [{"a"}, {}]>
#1 = #tandem.sharding<@mesh, [{}, {"a"}]>
#2 = #tandem.sharding<@mesh, [{"b"}, {}]>
#3 = #tandem.sharding<@mesh, [{}, {"b"}]>
#4 = #tandem.sharding<@mesh, [{"a"}, {"b"}]>
// CHECK-LABEL: func.func @many_layouts
// CHECK: tandem.einsum {{.*}}[#tandem.sharding<@mesh, [{}, {"a"}]>]
func.func @many_layouts(%x: tensor<64x64xf32> {tandem.sharding = #r},
                        %w: tensor<64x64xf32> {tandem.sharding = #1})
    -> (tensor<64x64xf32> {tandem.sharding = #0}, tensor<64x64xf32> {tandem.sharding = #1},
        tensor<64x64xf32> {tandem.sharding = #2}, tensor<64x64xf32> {tandem.sharding = #3},
        tensor<64x64xf32> {tandem.sharding = #4}, tensor<64x64xf32> {tandem.sharding = #0}) {
  // expected-remark@+1 {{open: k={"a"} moves 4096 bytes; i={"a"} would move 8192}}
  %0 = tandem.einsum "ij,jk->ik" %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %x, %x, %x, %x, %x, %0 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

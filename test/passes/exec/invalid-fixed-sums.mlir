// RUN: tandem-opt %s --tandem-lower-to-exec -split-input-file -verify-diagnostics

// Shards end within pieces: 10 lanes are 3 3 3 1, and a rank has 5.
!x = tensor<3x5xf32, #tandem.local<[3, 10], @mesh, [{}, {"tp"}]>>
!w = tensor<5x6xf32, #tandem.local<[10, 6], @mesh, [{"tp"}, {}]>>
!part = tensor<3x6xf32, #tandem.local<[3, 6], @mesh, [{}, {}], unreduced={"tp"}>>
module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @ends(%x: !x, %w: !w) -> !part attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{sums over dimension 1 of operand 0, 10 lanes split over "tp"; with --layout-invariant 4 a shard must be a power of two of pieces of 3, got 5 lanes; take another mesh, or as many pieces as ranks that split it}}
  %0 = tandem.einsum "bd,df->bf" %x, %w : (!x, !w) -> !part
  return %0 : !part
}
}

// -----

// Three of four pieces are no node of the tree.
!x = tensor<3x4xf32, #tandem.local<[3, 12], @mesh, [{}, {"tp"}]>>
!part = tensor<3xf32, #tandem.local<[3], @mesh, [{}], unreduced={"tp"}>>
module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["tp"=3]>
func.func @three(%x: !x) -> !part attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{a shard must be a power of two of pieces of 3, got 4 lanes}}
  %0 = tandem.reduce sum, %x [1] : (!x) -> !part
  return %0 : !part
}
}

// -----

// The first dimension gives the pieces, so that the second stays whole.
!x = tensor<4x3x8xf32, #tandem.local<[4, 6, 8], @mesh, [{}, {"tp"}, {}]>>
!y = tensor<4x3x5xf32, #tandem.local<[4, 6, 5], @mesh, [{}, {"tp"}, {}]>>
!part = tensor<8x5xf32, #tandem.local<[8, 5], @mesh, [{}, {}], unreduced={"tp"}>>
module attributes {tandem.layout_invariant = 2 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @whole(%x: !x, %y: !y) -> !part attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{sums over dimension 1 of operand 0, 6 lanes split over "tp"; with --layout-invariant 2 that dimension must be whole; take a mesh or annotations that do not split it}}
  %0 = tandem.einsum "bsd,bsf->df" %x, %y : (!x, !y) -> !part
  return %0 : !part
}
}

// -----

// Pieces of both, of which a rank has several of the first.
!x = tensor<2x4x8xf32, #tandem.local<[2, 8, 8], @mesh, [{}, {"tp"}, {}]>>
!y = tensor<2x4x5xf32, #tandem.local<[2, 8, 5], @mesh, [{}, {"tp"}, {}]>>
!part = tensor<8x5xf32, #tandem.local<[8, 5], @mesh, [{}, {}], unreduced={"tp"}>>
module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @later(%x: !x, %y: !y) -> !part attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{dimension 0 of operand 0 comes first, of which a rank holds 2 pieces, expected 1; split that one instead, or as far}}
  %0 = tandem.einsum "bsd,bsf->df" %x, %y : (!x, !y) -> !part
  return %0 : !part
}
}

// -----

// Ranks add in the order of the result's axes, which is not the dimensions'.
!x = tensor<1x4x8xf32, #tandem.local<[2, 8, 8], @mesh, [{"y"}, {"x"}, {}]>>
!y = tensor<1x4x5xf32, #tandem.local<[2, 8, 5], @mesh, [{"y"}, {"x"}, {}]>>
!part = tensor<8x5xf32, #tandem.local<[8, 5], @mesh, [{}, {}], unreduced={"x", "y"}>>
module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["x"=2, "y"=2]>
func.func @order(%x: !x, %y: !y) -> !part attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{the axes that split a sum must stand in the order of its dimensions, got another; exchange them in --mesh}}
  %0 = tandem.einsum "bsd,bsf->df" %x, %y : (!x, !y) -> !part
  return %0 : !part
}
}

// -----

!part = tensor<4xbf16, #tandem.local<[4], @mesh, [{}], unreduced={"tp"}>>
!sum = tensor<4xbf16, #tandem.local<[4], @mesh, [{}]>>
module attributes {tandem.layout_invariant = 2 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @narrow(%x: !part) -> !sum attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{adds parts of bf16, which are rounded before they are added; --layout-invariant expects f32 here: take --dtype f32}}
  %0 = tandem.all_reduce %x over <"tp"> cause "c" : (!part) -> !sum
  return %0 : !sum
}
}

// -----

!part = tensor<4xf32, #tandem.local<[4], @mesh, [{}], unreduced={"x", "y"}>>
!rest = tensor<4xf32, #tandem.local<[4], @mesh, [{}], unreduced={"y"}>>
!last = tensor<4xf32, #tandem.local<[4], @mesh, [{}], unreduced={"x"}>>
module attributes {tandem.layout_invariant = 4 : i64} {
tandem.mesh @mesh = <["x"=2, "y"=2]>
func.func @neighbours(%x: !part) -> (!last, !rest) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.all_reduce %x over <"y"> cause "c" : (!part) -> !last
  // expected-error @below {{adds over 2 of 4 parts, which are not neighbours; --layout-invariant expects the last axes of the sum}}
  %1 = tandem.all_reduce %x over <"x"> cause "c" : (!part) -> !rest
  return %0, %1 : !last, !rest
}
}

// -----

// Query heads of one key head are taken together.
!q = tensor<1x3x2x2x4xf32, #tandem.local<[1, 3, 2, 4, 4], @mesh, [{}, {}, {}, {"tp"}, {}]>>
!k = tensor<1x3x2x4xf32, #tandem.local<[1, 3, 2, 4], @mesh, [{}, {}, {}, {}]>>
!lse = tensor<1x3x2x2xf32, #tandem.local<[1, 3, 2, 4], @mesh, [{}, {}, {}, {"tp"}]>>
!p = tensor<1xi32, #tandem.local<[1], @mesh, [{}]>>
module attributes {tandem.layout_invariant = 2 : i64} {
tandem.mesh @mesh = <["tp"=2]>
func.func @groups(%q: !q, %k: !k, %p: !p) -> !q attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  // expected-error @below {{takes rows together along dimension 3 of operand 0, 4 lanes split over "tp"; with --layout-invariant 2 that dimension must be whole; take a mesh or annotations that do not split it}}
  %0, %lse = tandem.attention %q, %k, %k, %p {causal, scale = 0.5 : f64} : (!q, !k, !k, !p) -> (!q, !lse)
  return %0 : !q
}
}

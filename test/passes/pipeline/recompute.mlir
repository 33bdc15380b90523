// RUN: tandem-opt %s --tandem-recompute -split-input-file | FileCheck %s

// Full: what layer 0 gave to itself is made again in front of its first
// backward reader, in order; what layer 1 reads is kept, and what the head
// made. What only the backward pass read is not made in the forward pass.
module attributes {tandem.recompute = "full"} {
// CHECK-LABEL: func.func @full
// CHECK-NEXT:    %[[A:.*]] = tandem.unary  exp, %arg0 {tandem.layer = 0 : i64}
// CHECK-NEXT:    %[[B:.*]] = tandem.unary  sin, %[[A]] {tandem.layer = 0 : i64}
// CHECK-NEXT:    %[[C:.*]] = tandem.unary  tanh, %[[B]] {tandem.layer = 1 : i64}
// CHECK-NEXT:    %[[D:.*]] = tandem.unary  neg, %[[C]] {tandem.layer = 2 : i64}
// CHECK-NEXT:    %[[G:.*]] = tandem.binary  mul, %[[D]], %[[D]] {tandem.backward, tandem.layer = 2 : i64}
// CHECK-NEXT:    %[[C2:.*]] = tandem.binary  mul, %[[G]], %[[C]] {tandem.backward, tandem.layer = 1 : i64}
// CHECK-NEXT:    %[[A2:.*]] = tandem.unary  exp, %arg0 {tandem.backward, tandem.layer = 0 : i64, tandem.recomputed}
// CHECK-NEXT:    %[[U2:.*]] = tandem.unary  cos, %[[A2]] {tandem.backward, tandem.layer = 0 : i64, tandem.recomputed}
// CHECK-NEXT:    %[[E:.*]] = tandem.binary  mul, %[[C2]], %[[U2]] {tandem.backward, tandem.layer = 0 : i64}
// CHECK-NEXT:    %[[F:.*]] = tandem.binary  mul, %[[E]], %[[A2]] {tandem.backward, tandem.layer = 0 : i64}
// CHECK-NEXT:    return %[[F]]
func.func @full(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tandem.unary exp, %x {tandem.layer = 0 : i64} : tensor<4xf32>
  %u = tandem.unary cos, %a {tandem.layer = 0 : i64} : tensor<4xf32>
  %b = tandem.unary sin, %a {tandem.layer = 0 : i64} : tensor<4xf32>
  %c = tandem.unary tanh, %b {tandem.layer = 1 : i64} : tensor<4xf32>
  %d = tandem.unary neg, %c {tandem.layer = 2 : i64} : tensor<4xf32>
  %g = tandem.binary mul, %d, %d {tandem.backward, tandem.layer = 2 : i64} : tensor<4xf32>
  %gc = tandem.binary mul, %g, %c {tandem.backward, tandem.layer = 1 : i64} : tensor<4xf32>
  %e = tandem.binary mul, %gc, %u {tandem.backward, tandem.layer = 0 : i64} : tensor<4xf32>
  %f = tandem.binary mul, %e, %a {tandem.backward, tandem.layer = 0 : i64} : tensor<4xf32>
  return %f : tensor<4xf32>
}
}

// -----

// Of some layers only.
module attributes {tandem.recompute = "1,3-4"} {
// CHECK-LABEL: func.func @layers
// CHECK-COUNT-3: tandem.unary  exp, %arg0
// CHECK:         tandem.unary  exp, %arg0 {tandem.backward, tandem.layer = 1 : i64, tandem.recomputed}
// CHECK-NEXT:    tandem.binary  mul, %{{.*}} {tandem.backward, tandem.layer = 1 : i64}
// CHECK-NEXT:    tandem.binary  mul, %{{.*}} {tandem.backward, tandem.layer = 0 : i64}
// CHECK-NEXT:    return
func.func @layers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = tandem.unary exp, %x {tandem.layer = 0 : i64} : tensor<4xf32>
  %b = tandem.unary exp, %x {tandem.layer = 1 : i64} : tensor<4xf32>
  %b2 = tandem.binary mul, %b, %a {tandem.layer = 1 : i64} : tensor<4xf32>
  %c = tandem.unary exp, %x {tandem.layer = 5 : i64} : tensor<4xf32>
  %c2 = tandem.binary mul, %b2, %c {tandem.layer = 5 : i64} : tensor<4xf32>
  %e = tandem.binary mul, %c2, %c {tandem.backward, tandem.layer = 5 : i64} : tensor<4xf32>
  %f = tandem.binary mul, %e, %b {tandem.backward, tandem.layer = 1 : i64} : tensor<4xf32>
  %g = tandem.binary mul, %f, %a {tandem.backward, tandem.layer = 0 : i64} : tensor<4xf32>
  return %g : tensor<4xf32>
}
}

// -----

// Attention alone, once for both that read it.
module attributes {tandem.recompute = "selective"} {
// CHECK-LABEL: func.func @selective
// CHECK:         %[[Q:.*]] = tandem.unary  exp, %arg0 {tandem.layer = 0 : i64}
// CHECK:         %{{.*}}, %{{.*}} = tandem.attention
// CHECK:         %[[R:.*]], %[[LSE:.*]] = tandem.attention %[[Q]], {{.*}}tandem.backward, tandem.layer = 0 : i64, tandem.recomputed
// CHECK-NEXT:    tandem.unary  neg, %[[R]]
// CHECK-NEXT:    tandem.unary  neg, %[[LSE]]
// CHECK-NEXT:    return
func.func @selective(%x: tensor<2x5x1x1x4xf32>, %k: tensor<2x5x1x4xf32>, %p: tensor<2xi32>)
    -> (tensor<2x5x1x1x4xf32>, tensor<2x5x1x1x4xf32>, tensor<2x5x1x1xf32>) {
  %q = tandem.unary exp, %x {tandem.layer = 0 : i64} : tensor<2x5x1x1x4xf32>
  %y, %lse = tandem.attention %q, %k, %k, %p {scale = 0.5 : f64, tandem.layer = 0 : i64} : (tensor<2x5x1x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2x5x1x4xf32>, tensor<2xi32>) -> (tensor<2x5x1x1x4xf32>, tensor<2x5x1x1xf32>)
  %z = tandem.unary exp, %y {tandem.layer = 0 : i64} : tensor<2x5x1x1x4xf32>
  %h = tandem.unary exp, %z {tandem.layer = 1 : i64} : tensor<2x5x1x1x4xf32>
  %g = tandem.unary neg, %y {tandem.backward, tandem.layer = 0 : i64} : tensor<2x5x1x1x4xf32>
  %i = tandem.unary neg, %lse {tandem.backward, tandem.layer = 0 : i64} : tensor<2x5x1x1xf32>
  return %h, %g, %i : tensor<2x5x1x1x4xf32>, tensor<2x5x1x1x4xf32>, tensor<2x5x1x1xf32>
}
}

// -----

// A gathered parameter is gathered in front of its first reader of each layer
// and pass, in the body of the step; its cast, which lies split, is made once.
// What the optimizer reads is not gathered.
tandem.mesh @mesh = <["dp"=2]>
!master = tensor<4x8xf32, #tandem.local<[8, 8], @mesh, [{"dp"}, {}]>>
!piece = tensor<4x8xbf16, #tandem.local<[8, 8], @mesh, [{"dp"}, {}]>>
!whole = tensor<8x8xbf16, #tandem.local<[8, 8], @mesh, [{}, {}]>>
!batch = tensor<3x8xbf16, #tandem.local<[3, 8], @mesh, [{}, {}]>>
!row = tensor<8xbf16, #tandem.local<[8], @mesh, [{}]>>
!sum = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
// CHECK-LABEL: func.func @gathered
// CHECK-NEXT:    %[[CAST:.*]] = tandem.cast %arg1
// CHECK-NEXT:    %[[M:.*]] = tandem.microbatch
// CHECK-NEXT:    %[[W0:.*]] = tandem.all_gather %[[CAST]] over <"dp"> dim 0 {{.*}}tandem.layer = 0 : i64, tandem.recomputed
// CHECK-NEXT:    %[[Y0:.*]] = tandem.einsum "d,df->f" %[[M]], %[[W0]]
// CHECK-NEXT:    %[[Y1:.*]] = tandem.einsum "d,df->f" %[[Y0]], %[[W0]]
// CHECK-NEXT:    %[[W1:.*]] = tandem.all_gather %[[CAST]] {{.*}}tandem.layer = 1 : i64, tandem.recomputed
// CHECK-NEXT:    %[[Y2:.*]] = tandem.einsum "d,df->f" %[[Y1]], %[[W1]]
// CHECK-NEXT:    %[[W2:.*]] = tandem.all_gather %[[CAST]] {{.*}}tandem.backward, tandem.layer = 1 : i64, tandem.recomputed
// CHECK-NEXT:    %[[G:.*]] = tandem.einsum "f,df->d" %[[Y2]], %[[W2]]
// CHECK-NEXT:    tandem.accumulate %[[G]]
// CHECK-NEXT:    return
func.func @gathered(%x: !batch {tandem.input = "x"}, %w: !master {tandem.parameter = #tandem.view<"w">}) -> !sum {
  %c = tandem.cast %w {tandem.layer = 0 : i64} : (!master) -> !piece
  %g = tandem.all_gather %c over <"dp"> dim 0 cause "einsum operand" {tandem.layer = 0 : i64} : (!piece) -> !whole
  %m = tandem.microbatch %x {tandem.layer = 0 : i64} : (!batch) -> !row
  %0 = tandem.einsum "d,df->f" %m, %g {tandem.layer = 0 : i64} : (!row, !whole) -> !row
  %1 = tandem.einsum "d,df->f" %0, %g {tandem.layer = 0 : i64} : (!row, !whole) -> !row
  %2 = tandem.einsum "d,df->f" %1, %g {tandem.layer = 1 : i64} : (!row, !whole) -> !row
  %3 = tandem.einsum "f,df->d" %2, %g {tandem.backward, tandem.layer = 1 : i64} : (!row, !whole) -> !row
  %4 = tandem.accumulate %3 {tandem.backward, tandem.layer = 2 : i64} : (!row) -> !sum
  return %4 : !sum
}

// -----

// In the head backward follows at once: one gather is for both. So it is where
// each microbatch turns there, as in 1F1B, but not in GPipe.
module attributes {tandem.schedule_name = "1f1b"} {
tandem.mesh @mesh = <["dp"=2]>
// CHECK-LABEL: func.func @head
// CHECK: tandem.all_gather {{.*}}tandem.layer = 1 : i64
// CHECK-NOT: tandem.all_gather
// CHECK: return
func.func @head(%x: tensor<3x8xf32, #tandem.local<[3, 8], @mesh, [{}, {}]>> {tandem.input = "x"}, %w: tensor<4x8xf32, #tandem.local<[8, 8], @mesh, [{"dp"}, {}]>> {tandem.parameter = #tandem.view<"w">}) -> tensor<8xf32, #tandem.local<[8], @mesh, [{}]>> {
  %g = tandem.all_gather %w over <"dp"> dim 0 cause "einsum operand" {tandem.layer = 1 : i64} : (tensor<4x8xf32, #tandem.local<[8, 8], @mesh, [{"dp"}, {}]>>) -> tensor<8x8xf32, #tandem.local<[8, 8], @mesh, [{}, {}]>>
  %m = tandem.microbatch %x {tandem.layer = 0 : i64} : (tensor<3x8xf32, #tandem.local<[3, 8], @mesh, [{}, {}]>>) -> tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
  %0 = tandem.einsum "d,df->f" %m, %g {tandem.layer = 1 : i64} : (tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>, tensor<8x8xf32, #tandem.local<[8, 8], @mesh, [{}, {}]>>) -> tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
  %1 = tandem.einsum "f,df->d" %0, %g {tandem.backward, tandem.layer = 1 : i64} : (tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>, tensor<8x8xf32, #tandem.local<[8, 8], @mesh, [{}, {}]>>) -> tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
  %2 = tandem.accumulate %1 {tandem.backward, tandem.layer = 1 : i64} : (tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>) -> tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
  return %2 : tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
}
}

// -----

// A gathered activation is not kept for another layer, its piece is; what was
// gathered for the backward pass alone is gathered in front of its reader.
!piece = tensor<4xf32, #tandem.local<[8], @mesh, [{"tp"}]>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
module attributes {tandem.recompute = "full"} {
tandem.mesh @mesh = <["tp"=2]>
// CHECK-LABEL: func.func @activation
// CHECK-NEXT:    %[[A:.*]] = tandem.unary  exp, %arg0 {tandem.layer = 0 : i64}
// CHECK-NEXT:    %[[G:.*]] = tandem.all_gather %[[A]]
// CHECK-NEXT:    %[[B:.*]] = tandem.unary  sin, %[[G]] {tandem.layer = 1 : i64}
// CHECK-NEXT:    %[[C:.*]] = tandem.unary  neg, %[[B]] {tandem.layer = 2 : i64}
// CHECK-NEXT:    %[[G2:.*]] = tandem.all_gather %[[A]] {{.*}}cause "b" {tandem.backward
// CHECK-NEXT:    %[[D:.*]] = tandem.unary  neg, %[[G2]] {tandem.backward, tandem.layer = 1 : i64}
// CHECK-NEXT:    %[[G3:.*]] = tandem.all_gather %[[A]] {{.*}}cause "a" {tandem.backward, tandem.layer = 0 : i64, tandem.recomputed}
// CHECK-NEXT:    %[[E:.*]] = tandem.binary  mul, %[[D]], %[[G3]]
// CHECK-NEXT:    return %[[C]], %[[E]]
func.func @activation(%x: !piece) -> (!whole, !whole) {
  %a = tandem.unary exp, %x {tandem.layer = 0 : i64} : !piece
  %g = tandem.all_gather %a over <"tp"> dim 0 cause "a" {tandem.layer = 0 : i64} : (!piece) -> !whole
  %g2 = tandem.all_gather %a over <"tp"> dim 0 cause "b" {tandem.backward, tandem.layer = 0 : i64} : (!piece) -> !whole
  %b = tandem.unary sin, %g {tandem.layer = 1 : i64} : !whole
  %c = tandem.unary neg, %b {tandem.layer = 2 : i64} : !whole
  %d = tandem.unary neg, %g2 {tandem.backward, tandem.layer = 1 : i64} : !whole
  %e = tandem.binary mul, %d, %g {tandem.backward, tandem.layer = 0 : i64} : !whole
  return %c, %e : !whole, !whole
}
}

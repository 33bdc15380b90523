// RUN: tandem-opt %s --split-input-file --verify-diagnostics

// Local tensors of any operation: the encoding fits mesh and shape.
tandem.mesh @mesh = <["x"=2]>
!wrong = tensor<4xf32, #tandem.local<[9], @mesh, [{"x"}]>>
func.func @capacity(%x: !wrong) {
  // expected-error @below {{'tandem.unary' op operand 0 has local shape [4], expected [5] of [9] on mesh x=2}}
  %0 = tandem.unary exp, %x : !wrong
  return
}

// -----

!wrong = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
func.func @mesh(%x: !wrong) {
  // expected-error @below {{'tandem.silu' op operand 0: unknown mesh @mesh, expected a tandem.mesh of that name in the module}}
  %0 = tandem.silu %x : !wrong
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!wrong = tensor<4xf32, #tandem.local<[8], @mesh, [{"y"}]>>
func.func @axis(%x: !wrong) {
  // expected-error @below {{'tandem.softmax' op operand 0: unknown axis "y"; the mesh is x=2}}
  %0 = tandem.softmax %x : !wrong
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!wrong = tensor<4xf32, #tandem.local<[8, 8], @mesh, [{"x"}]>>
func.func @global_shape(%x: !wrong) {
  // expected-error @below {{'tandem.silu' op operand 0 has the global shape [8, 8], expected 1 dimensions}}
  %0 = tandem.silu %x : !wrong
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @result_capacity() {
  // expected-error @below {{'tandem.iota' op result 0 has local shape [3], expected [4] of [8] on mesh x=2}}
  %0 = tandem.iota {dim = 0 : i64} : tensor<3xf32, #tandem.local<[8], @mesh, [{"x"}]>>
  return
}

// -----

// Collectives: both ends are local, of one shape and element type.
tandem.mesh @mesh = <["x"=2]>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @global_operand(%x: tensor<8xf32>) {
  // expected-error @below {{'tandem.all_reduce' op operand has type 'tensor<8xf32>', expected a #tandem.local encoding}}
  %0 = tandem.all_reduce %x over <"x"> cause "sum" : (tensor<8xf32>) -> !whole
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!terms = tensor<8xf32, #tandem.local<[8], @mesh, [{}], unreduced={"x"}>>
func.func @global_result(%x: !terms) {
  // expected-error @below {{'tandem.all_reduce' op result has type 'tensor<8xf32>', expected a #tandem.local encoding}}
  %0 = tandem.all_reduce %x over <"x"> cause "sum" : (!terms) -> tensor<8xf32>
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!terms = tensor<8xf32, #tandem.local<[8], @mesh, [{}], unreduced={"x"}>>
!other = tensor<9xf32, #tandem.local<[9], @mesh, [{}]>>
func.func @other_shape(%x: !terms) {
  // expected-error @below {{'tandem.all_reduce' op result has shape [9], expected [8]}}
  %0 = tandem.all_reduce %x over <"x"> cause "sum" : (!terms) -> !other
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!terms = tensor<8xf32, #tandem.local<[8], @mesh, [{}], unreduced={"x"}>>
!other = tensor<8xf64, #tandem.local<[8], @mesh, [{}]>>
func.func @other_type(%x: !terms) {
  // expected-error @below {{'tandem.all_reduce' op result has element type 'f64', expected 'f32'}}
  %0 = tandem.all_reduce %x over <"x"> cause "sum" : (!terms) -> !other
  return
}

// -----

// all_reduce 1: the operand is unreduced over the axes, the result is not.
tandem.mesh @mesh = <["x"=2]>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @all_reduce_reduced(%x: !whole) {
  // expected-error @below {{'tandem.all_reduce' op all_reduce over {"x"} does not fit f32[8] [{}]: it is not unreduced over these axes}}
  %0 = tandem.all_reduce %x over <"x"> cause "sum" : (!whole) -> !whole
  return
}

// -----

tandem.mesh @mesh = <["x"=2, "y"=2]>
!terms = tensor<8xf32, #tandem.local<[8], @mesh, [{}], unreduced={"x", "y"}>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @all_reduce_result(%x: !terms) {
  // expected-error @below {{'tandem.all_reduce' op all_reduce over {"x"} does not fit f32[8] [{}], unreduced={"x", "y"}: the result is declared f32[8] [{}], it is f32[8] [{}], unreduced={"y"}}}
  %0 = tandem.all_reduce %x over <"x"> cause "sum" : (!terms) -> !whole
  return
}

// -----

// all_gather 1: the axes are the minor-most of the operand's dimension.
tandem.mesh @mesh = <["x"=2, "y"=2]>
!split = tensor<2xf32, #tandem.local<[8], @mesh, [{"x", "y"}]>>
!other = tensor<4xf32, #tandem.local<[8], @mesh, [{"y"}]>>
func.func @all_gather_major(%x: !split) {
  // expected-error @below {{'tandem.all_gather' op all_gather over {"x"} does not fit f32[8] [{"x", "y"}]: dimension 0 is not split by these axes last}}
  %0 = tandem.all_gather %x over <"x"> dim 0 cause "sum" : (!split) -> !other
  return
}

// -----

tandem.mesh @mesh = <["x"=2]>
!split = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @all_gather_dim(%x: !split) {
  // expected-error @below {{'tandem.all_gather' op all_gather over {"x"} does not fit f32[8] [{"x"}]: it has no dimension 1}}
  %0 = tandem.all_gather %x over <"x"> dim 1 cause "sum" : (!split) -> !whole
  return
}

// -----

// reduce_scatter 1: the operand is unreduced over the axes.
tandem.mesh @mesh = <["x"=2]>
!split = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @reduce_scatter_reduced(%x: !whole) {
  // expected-error @below {{'tandem.reduce_scatter' op reduce_scatter over {"x"} does not fit f32[8] [{}]: it is not unreduced over these axes}}
  %0 = tandem.reduce_scatter %x over <"x"> dim 0 cause "sum" : (!whole) -> !split
  return
}

// -----

// all_to_all 1: two dimensions of the operand.
tandem.mesh @mesh = <["x"=2]>
!split = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
func.func @all_to_all_dims(%x: !split) {
  // expected-error @below {{'tandem.all_to_all' op all_to_all over {"x"} does not fit f32[8] [{"x"}]: it has no other dimension 0}}
  %0 = tandem.all_to_all %x over <"x"> from 0 to 0 cause "sum" : (!split) -> !split
  return
}

// -----

// all_slice 1: the operand lacks the axes.
tandem.mesh @mesh = <["x"=2]>
!split = tensor<4x8xf32, #tandem.local<[8, 8], @mesh, [{"x"}, {}]>>
!both = tensor<4x8xf32, #tandem.local<[8, 8], @mesh, [{"x"}, {}]>>
func.func @all_slice_used(%x: !split) {
  // expected-error @below {{'tandem.all_slice' op all_slice over {"x"} does not fit f32[8x8] [{"x"}, {}]: axis "x" is used twice}}
  %0 = tandem.all_slice %x over <"x"> dim 1 cause "sum" : (!split) -> !both
  return
}

// -----

// permute 2: each dimension is split by as many ranks as before.
tandem.mesh @mesh = <["x"=2, "y"=2]>
!split = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
!both = tensor<2xf32, #tandem.local<[8], @mesh, [{"x", "y"}]>>
func.func @permute_pieces(%x: !split) {
  // expected-error @below {{'tandem.permute' op permute over {"x", "y"} does not fit f32[8] [{"x"}]: the result has other pieces of dimension 0, f32[8] [{"x", "y"}]}}
  %0 = tandem.permute %x over <"x", "y"> cause "sum" : (!split) -> !both
  return
}

// -----

// broadcast 1: types agree.
tandem.mesh @mesh = <["x"=2]>
!split = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @broadcast_types(%x: !whole) {
  // expected-error @below {{'tandem.broadcast' op broadcast over {"x"} does not fit f32[8] [{}]: the result is declared f32[8] [{"x"}], it is f32[8] [{}]}}
  %0 = tandem.broadcast %x over <"x"> root 0 cause "sum" : (!whole) -> !split
  return
}

// -----

// broadcast 2: `root` is a position of the group.
tandem.mesh @mesh = <["x"=2]>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @broadcast_root(%x: !whole) {
  // expected-error @below {{'tandem.broadcast' op root is 2, expected 0 to 1}}
  %0 = tandem.broadcast %x over <"x"> root 2 cause "sum" : (!whole) -> !whole
  return
}

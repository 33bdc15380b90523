//===- Shape.td - Moving elements --------------------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_SHAPE_TD
#define TANDEM_IR_OPS_SHAPE_TD

include "ir/ops/Base.td"

def Tandem_ConstantOp : Tandem_TensorOp<"constant"> {
  let summary = "a tensor that is known";
  let description = [{
    ```mlir
    %c = tandem.constant dense<1.0> : tensor<4xf32>
    ```
    Carries no layer: it is cloned to its uses.

    Constraints:
    1. the value has the result's element type and global shape.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Tandem_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tandem_IotaOp : Tandem_TensorOp<"iota"> {
  let summary = "start + step * index along a dimension";
  let description = [{
    ```mlir
    %i = tandem.iota {dim = 0 : i64} : tensor<8x4xi32>
    ```
    Constraints:
    1. `dim` is in range.
  }];
  let arguments = (ins I64Attr:$dim, DefaultValuedAttr<F64Attr, "0.0">:$start,
                       DefaultValuedAttr<F64Attr, "1.0">:$step);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tandem_ReshapeOp : Tandem_PassThroughOp<"reshape", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the same elements in row-major order, another shape";
  let description = [{
    ```mlir
    %y = tandem.reshape %x : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
    ```
    Splits survive only where piece boundaries agree, so projections have
    separate head and head_dim dimensions from the start.

    Constraints:
    1. element types and counts agree.
  }];
  let arguments = (ins Tandem_Tensor:$input);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tandem_TransposeOp : Tandem_PassThroughOp<"transpose", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "dimensions in another order";
  let description = [{
    ```mlir
    %y = tandem.transpose %x [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    ```
    Constraints:
    1. `permutation` is one;
    2. result dimension i has the size of dimension permutation[i].
  }];
  let arguments = (ins Tandem_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_BroadcastInDimOp : Tandem_PassThroughOp<"broadcast_in_dim", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "repeat a tensor along new dimensions";
  let description = [{
    ```mlir
    %y = tandem.broadcast_in_dim %bias [2] : (tensor<8xf32>) -> tensor<2x5x8xf32>
    ```
    Operand dimension i becomes result dimension dims[i]. (`tandem.broadcast`
    is the collective.)

    Constraints:
    1. `dims` has one ascending entry for each operand dimension, in range;
    2. sizes agree along them.
  }];
  let arguments = (ins Tandem_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_SliceOp : Tandem_TensorOp<"slice", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "a part of a tensor";
  let description = [{
    ```mlir
    %y = tandem.slice %x [0, 2] step [1, 1] : (tensor<4x8xf32>) -> tensor<4x3xf32>
    ```
    Result index i is operand index start + step * i. A dimension that is
    taken whole passes through. Others are reduction factors of the operand: a
    rank gives zeros for what it does not hold, so that the last position of a
    split sequence costs one all_reduce of its size.

    Constraints:
    1. one start and step for each dimension; steps at least 1;
    2. the last index is in range.
  }];
  let arguments = (ins Tandem_Tensor:$input, DenseI64ArrayAttr:$start,
                       DenseI64ArrayAttr:$step);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input $start `step` $step attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_ConcatOp : Tandem_TensorOp<"concat", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "tensors one after another along a dimension";
  let description = [{
    ```mlir
    %y = tandem.concat %a, %b {dim = 0 : i64} : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
    ```
    A rank makes its piece of the result out of whole operands: to gather
    these costs no more than to sum masked results.

    Constraints:
    1. at least one operand; `dim` in range;
    2. sizes agree but along `dim`, where they add up.
  }];
  let arguments = (ins Variadic<Tandem_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_PadOp : Tandem_TensorOp<"pad", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "a tensor with a border of one value";
  let description = [{
    ```mlir
    %y = tandem.pad %x low [0, 1] high [0, 2] value 0.0 : (tensor<4x8xf32>) -> tensor<4x11xf32>
    ```
    Along padded dimensions a rank makes its piece of the result out of a whole
    operand: to gather it costs less than to sum masked results.

    Constraints:
    1. one low and high for each dimension, none negative;
    2. result sizes are low + size + high.
  }];
  let arguments = (ins Tandem_Tensor:$input, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, F64Attr:$value);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input `low` $low `high` $high `value` $value attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_SHAPE_TD

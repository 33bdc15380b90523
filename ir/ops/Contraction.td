//===- Contraction.td - Products and reductions ------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_CONTRACTION_TD
#define TANDEM_IR_OPS_CONTRACTION_TD

include "ir/ops/Base.td"

def Tandem_EinsumOp : Tandem_TensorOp<"einsum", [DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "a product of tensors, by letters";
  let description = [{
    ```mlir
    %y = tandem.einsum "bsd,df->bsf" %x, %w : (tensor<2x5x8xf32>, tensor<8x16xf32>) -> tensor<2x5x16xf32>
    ```
    Letters that the result lacks are summed over. Linear in each operand.
    Computed in float32 whatever the element types.

    Constraints:
    1. the equation has one group of distinct letters for each operand and the
       result, and the result's letters occur in operands;
    2. each group has as many letters as its tensor has dimensions;
    3. a letter has one size.
  }];
  let arguments = (ins StrAttr:$equation, Variadic<Tandem_Tensor>:$inputs);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$equation $inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_ReduceOp : Tandem_TensorOp<"reduce", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "sum, maximum or minimum over dimensions";
  let description = [{
    ```mlir
    %y = tandem.reduce sum, %x [1] : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    Constraints:
    1. dimensions are in range and ascending;
    2. the result has the dimensions that remain.
  }];
  let arguments = (ins Tandem_ReduceKindAttr:$kind, Tandem_Tensor:$input,
                       DenseI64ArrayAttr:$dims);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$kind `,` $input $dims attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_CumulativeSumOp : Tandem_TensorOp<"cumulative_sum", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "running sums along a dimension";
  let description = [{
    ```mlir
    %y = tandem.cumulative_sum %x {dim = 1 : i64} : tensor<4x8xf32>
    ```
    `exclusive` leaves the lane itself out, `reverse` sums from the end. `dim`
    is gathered where it is split.

    Constraints:
    1. `dim` is in range.
  }];
  let arguments = (ins Tandem_Tensor:$input, I64Attr:$dim, UnitAttr:$exclusive,
                       UnitAttr:$reverse);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_CONTRACTION_TD

//===- Training.td - Microbatches and sums over them -------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_TRAINING_TD
#define TANDEM_IR_OPS_TRAINING_TD

include "ir/ops/Base.td"

def Tandem_MicrobatchOp : Tandem_TensorOp<"microbatch", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the current microbatch of a batch";
  let description = [{
    ```mlir
    %ids = tandem.microbatch %batch : (tensor<4x2x13xi32>) -> tensor<2x13xi32>
    ```
    A slice of dimension 0, which nothing splits. What depends on it, other
    than through `accumulate`, runs once for each microbatch: the *body* of a
    step (`ir/Microbatches.h`).

    Constraints:
    1. the operand has a dimension more, in front of the result's;
    2. all of a function have as many microbatches.
  }];
  let arguments = (ins Tandem_Tensor:$input);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDeclaration = phaseDeclaration # [{
    /// The slice of microbatch `index`.
    void evaluateAt(int64_t index, const ::tandem::Tensor &input,
                    ::tandem::Tensor &result);
  }];
}

def Tandem_AccumulateOp : Tandem_TensorOp<"accumulate", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the sum of a value over all microbatches";
  let description = [{
    ```mlir
    %g = tandem.accumulate %part : (tensor<48x24xbf16>) -> tensor<48x24xf32>
    ```
    Added in the order of microbatches, in the result's element type. Linear:
    a term that is unreduced over some axes gives a sum that is, so that
    gradients are reduced once a step. `evaluate` gives one term.

    Constraints:
    1. the result has the operand's shape.
  }];
  let arguments = (ins Tandem_Tensor:$input);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_TRAINING_TD

//===- Loss.td - Cross entropy -----------------------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_LOSS_TD
#define TANDEM_IR_OPS_LOSS_TD

include "ir/ops/Base.td"

def Tandem_CrossEntropyOp : Tandem_TensorOp<"cross_entropy", [
    DeclareOpInterfaceMethods<PartitionOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "-log(softmax(logits)[label]) over the last dimension";
  let description = [{
    ```mlir
    %loss, %lse = tandem.cross_entropy %logits, %labels : (tensor<2x13x101xf32>, tensor<2x13xi32>) -> (tensor<2x13xf32>, tensor<2x13xf32>)
    ```
    loss = lse - logits[label], where lse, the second result, is the log of the
    sum of exponentials; 0 where the label is `ignored`. Where the last
    dimension is split, a maximum, a sum and the label's logit of each row are
    exchanged, never the logits.

    Constraints:
    1. logits have a dimension; the labels have the others;
    2. results have the labels' shape; they are of f32, or of f64 for logits
       of f64.
  }];
  let arguments = (ins Tandem_FloatTensor:$logits, Tandem_IntTensor:$labels,
      DefaultValuedAttr<I64Attr, "-100">:$ignored);
  let results = (outs Tandem_FloatTensor:$loss, Tandem_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_CrossEntropyGradOp : Tandem_TensorOp<"cross_entropy_grad"> {
  let summary = "the gradient of cross_entropy";
  let description = [{
    ```mlir
    %dlogits = tandem.cross_entropy_grad %logits, %labels, %lse, %g : (tensor<2x13x101xf32>, tensor<2x13xi32>, tensor<2x13xf32>, tensor<2x13xf32>) -> tensor<2x13x101xf32>
    ```
    (exp(logits - lse) - [lane is the label]) g, and 0 where the label is
    `ignored`. Every dimension passes through, for a rank knows which lanes it
    holds. Linear in g.

    Constraints:
    1. logits have a dimension; labels, lse and g have the others;
    2. lse and g are of f32, or of f64 for logits of f64;
    3. the result has the logits' shape and element type.
  }];
  let arguments = (ins Tandem_FloatTensor:$logits, Tandem_IntTensor:$labels,
      Tandem_FloatTensor:$lse, Tandem_FloatTensor:$gradient,
      DefaultValuedAttr<I64Attr, "-100">:$ignored);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels `,` $lse `,` $gradient attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_LOSS_TD

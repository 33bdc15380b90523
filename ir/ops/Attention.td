//===- Attention.td - Rotary positions and attention -------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_ATTENTION_TD
#define TANDEM_IR_OPS_ATTENTION_TD

include "ir/ops/Base.td"

def Tandem_RopeOp : Tandem_TensorOp<"rope", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "rotate pairs of lanes by the token's position";
  let description = [{
    ```mlir
    %y = tandem.rope %x, %positions {style = #tandem.rope<half_split>, frequencies = array<f64: 1.0, 0.01>} : (tensor<2x5x3x10xf32>, tensor<2xi32>) -> tensor<2x5x3x10xf32>
    ```
    The operand is [batch, sequence, ..., head_dim]. Token i of batch row b is
    at p = positions[b] + i; pair j turns by p * frequencies[j]. Pairs are
    lanes (j, j + n) with `half_split`, (2j, 2j + 1) with `interleaved`, of
    the first 2n lanes for n frequencies; the others pass. `scale` multiplies
    sine and cosine.

    Constraints:
    1. at least three dimensions;
    2. positions have one entry a batch row;
    3. 2n is at most head_dim.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_IntTensor:$positions,
      Tandem_RopeStyleAttr:$style, DenseF64ArrayAttr:$frequencies,
      DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input `,` $positions attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_AttentionOp : Tandem_TensorOp<"attention", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "scaled dot-product attention with grouped heads";
  let description = [{
    ```mlir
    %y, %lse = tandem.attention %q, %k, %v, %positions {causal, scale = 0.25 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>)
    ```
    Queries are [batch, sequence, kv, group, head_dim], keys and values
    [batch, keys, kv, head_dim]: each KV head serves its group of query heads
    (MHA: group 1; MQA: kv 1). Query i of batch row b stands at position
    p = positions[b] + i and key j at j. With `causal` it sees j <= p, with a
    `window` w > 0 only j > p - w; a `mask` entry of 0 hides a key from all;
    `slopes` [kv, group] add slope * (j - p) to scores (ALiBi). `softcap` c
    turns a score s into c * tanh(s / c). The second result is the log of the
    sum of exponentials. A query that sees nothing gives 0.

    Constraints:
    1. shapes agree as above;
    2. positions have one entry a batch row; the mask is [batch, keys];
    3. the second result is [batch, sequence, kv, group] of f32, or of f64 for
       queries of f64.
  }];
  let arguments = (ins Tandem_FloatTensor:$query, Tandem_FloatTensor:$key,
      Tandem_FloatTensor:$value, Tandem_IntTensor:$positions,
      Optional<Tandem_IntTensor>:$mask, Optional<Tandem_FloatTensor>:$slopes,
      F64Attr:$scale, UnitAttr:$causal,
      DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Tandem_FloatTensor:$result, Tandem_FloatTensor:$lse);
  let assemblyFormat = "$query `,` $key `,` $value `,` $positions (`mask` $mask^)? (`slopes` $slopes^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_AttentionGradOp : Tandem_TensorOp<"attention_grad", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "the gradients of attention with respect to queries, keys and values";
  let description = [{
    ```mlir
    %dq, %dk, %dv = tandem.attention_grad %q, %k, %v, %positions, %y, %lse, %dy {causal, scale = 0.25 : f64} : (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>, tensor<2xi32>, tensor<2x5x3x2x10xf32>, tensor<2x5x3x2xf32>, tensor<2x5x3x2x10xf32>) -> (tensor<2x5x3x2x10xf32>, tensor<2x32x3x10xf32>, tensor<2x32x3x10xf32>)
    ```
    Operands and attributes are those of `attention`, its two results `y` and
    `lse`, and the gradient of the first. Probabilities are computed again, p
    = exp(score - lse); with d = sum(y dy) of a query, ds = p (dy . v - d) goes
    through the softcap to dq and dk, and dv is the sum of p dy. Linear in dy.
    A rank that holds some queries or some of a group gives terms of dk and dv.
    Slopes are taken for constants.

    Constraints:
    1. shapes agree as those of `attention` do;
    2. y and dy have its result's shape and the query's element type, lse is
       its second result;
    3. results have the shapes and element types of query, key and value.
  }];
  let arguments = (ins Tandem_FloatTensor:$query, Tandem_FloatTensor:$key,
      Tandem_FloatTensor:$value, Tandem_IntTensor:$positions,
      Tandem_FloatTensor:$output, Tandem_FloatTensor:$lse,
      Tandem_FloatTensor:$gradient,
      Optional<Tandem_IntTensor>:$mask, Optional<Tandem_FloatTensor>:$slopes,
      F64Attr:$scale, UnitAttr:$causal,
      DefaultValuedAttr<I64Attr, "0">:$window,
      DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Tandem_FloatTensor:$query_gradient,
      Tandem_FloatTensor:$key_gradient, Tandem_FloatTensor:$value_gradient);
  let assemblyFormat = "$query `,` $key `,` $value `,` $positions `,` $output `,` $lse `,` $gradient (`mask` $mask^)? (`slopes` $slopes^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_ATTENTION_TD

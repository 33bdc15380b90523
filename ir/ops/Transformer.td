//===- Transformer.td - Norms, rotary positions, attention -*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_TRANSFORMER_TD
#define TANDEM_IR_OPS_TRANSFORMER_TD

include "ir/ops/Base.td"

def Tandem_RmsNormOp : Tandem_TensorOp<"rms_norm", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "x / rms(x) * (offset + weight) over the last dimension";
  let description = [{
    ```mlir
    %y = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
    ```
    rms(x) = sqrt(mean(x^2) + epsilon). `weight_offset` is 1 for families that
    store the weight's distance from 1. Where the last dimension is split, a
    sum a row is exchanged.

    Constraints:
    1. the weight has one dimension, the operand's last.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_FloatTensor:$weight,
      F64Attr:$epsilon, DefaultValuedAttr<F64Attr, "0.0">:$weight_offset);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_LayerNormOp : Tandem_TensorOp<"layer_norm", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "(x - mean) / deviation * weight + bias over the last dimension";
  let description = [{
    ```mlir
    %y = tandem.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>, tensor<48xf32>) -> tensor<2x5x48xf32>
    ```
    deviation = sqrt(mean((x - mean)^2) + epsilon); the bias may be left out.
    Where the last dimension is split, two sums a row are exchanged, one after
    the other.

    Constraints:
    1. weight and bias have one dimension, the operand's last.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_FloatTensor:$weight,
                       Optional<Tandem_FloatTensor>:$bias, F64Attr:$epsilon);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input `,` $weight (`,` $bias^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_SoftmaxOp : Tandem_TensorOp<"softmax", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "exp(x - max) / sum over the last dimension";
  let description = [{
    ```mlir
    %y = tandem.softmax %x : tensor<2x5x48xf32>
    ```
    Where the last dimension is split, a maximum and a sum a row are exchanged.

    Constraints:
    1. the operand has a dimension.
  }];
  let arguments = (ins Tandem_FloatTensor:$input);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tandem_RopeOp : Tandem_TensorOp<"rope", [AllTypesMatch<["input", "result"]>]> {
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
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
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

#endif // TANDEM_IR_OPS_TRANSFORMER_TD

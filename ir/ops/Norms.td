//===- Norms.td - Rows brought to one size -----------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_NORMS_TD
#define TANDEM_IR_OPS_NORMS_TD

include "ir/ops/Base.td"

def Tandem_RmsNormOp : Tandem_TensorOp<"rms_norm", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<PartitionOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
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
    DeclareOpInterfaceMethods<PartitionOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
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
    DeclareOpInterfaceMethods<PartitionOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
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

def Tandem_RmsNormGradOp : Tandem_TensorOp<"rms_norm_grad", [DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "the gradients of rms_norm";
  let description = [{
    ```mlir
    %dx, %dw = tandem.rms_norm_grad %x, %w, %dy {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>, tensor<2x5x48xf32>) -> (tensor<2x5x48xf32>, tensor<48xf32>)
    ```
    With u = (offset + weight) dy and r = 1 / rms(x): dx = r u - x r^3 mean(x
    u), and dw is the sum over all rows of dy x r; so a rank that holds some of
    the rows gives a term of dw. Linear in dy. Where the last dimension is
    split, two sums a row are exchanged.

    Constraints:
    1. the weight has one dimension, the operand's last;
    2. dy and dx have the operand's shape and element type;
    3. dw has the weight's shape; it is of f32, or of f64 for operands of f64.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_FloatTensor:$weight,
      Tandem_FloatTensor:$gradient, F64Attr:$epsilon,
      DefaultValuedAttr<F64Attr, "0.0">:$weight_offset);
  let results = (outs Tandem_FloatTensor:$input_gradient,
                      Tandem_FloatTensor:$weight_gradient);
  let assemblyFormat = "$input `,` $weight `,` $gradient attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_LayerNormGradOp : Tandem_TensorOp<"layer_norm_grad", [DeclareOpInterfaceMethods<PartitionOpInterface>]> {
  let summary = "the gradients of layer_norm";
  let description = [{
    ```mlir
    %dx, %dw, %db = tandem.layer_norm_grad %x, %w, %dy {epsilon = 1.0e-5 : f64} : (tensor<2x5x48xf32>, tensor<48xf32>, tensor<2x5x48xf32>) -> (tensor<2x5x48xf32>, tensor<48xf32>, tensor<48xf32>)
    ```
    With u = weight dy, r = 1 / deviation and n = (x - mean) r: dx = r (u -
    mean(u) - n mean(n u)); dw and db are the sums over all rows of dy n and
    dy. The last result is left out where there is no bias. Linear in dy.
    Where the last dimension is split, four sums a row are exchanged.

    Constraints:
    1. the weight has one dimension, the operand's last;
    2. dy and dx have the operand's shape and element type;
    3. dw and db have the weight's shape; they are of f32, or of f64 for
       operands of f64.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_FloatTensor:$weight,
      Tandem_FloatTensor:$gradient, F64Attr:$epsilon);
  let results = (outs Tandem_FloatTensor:$input_gradient,
                      Tandem_FloatTensor:$weight_gradient,
                      Optional<Tandem_FloatTensor>:$bias_gradient);
  let assemblyFormat = "$input `,` $weight `,` $gradient attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_NORMS_TD

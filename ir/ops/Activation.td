//===- Activation.td - Activations and their gradients -----*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_ACTIVATION_TD
#define TANDEM_IR_OPS_ACTIVATION_TD

include "ir/ops/Base.td"

def Tandem_GeluOp : Tandem_PassThroughOp<"gelu", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "Gaussian error linear unit";
  let description = [{
    ```mlir
    %y = tandem.gelu %x {approximate = #tandem.gelu<tanh>} : tensor<4x8xf32>
    ```
    `none`: x/2 (1 + erf(x/sqrt 2)); `tanh`: x/2 (1 + tanh(sqrt(2/pi) (x +
    0.044715 x^3))); `quick`: x sigmoid(1.702 x).
  }];
  let arguments = (ins Tandem_FloatTensor:$input,
      DefaultValuedAttr<Tandem_GeluKindAttr, "::tandem::GeluKind::None">:$approximate);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Tandem_SiluOp : Tandem_PassThroughOp<"silu", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "x sigmoid(x)";
  let description = [{
    ```mlir
    %y = tandem.silu %x : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Tandem_FloatTensor:$input);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def Tandem_GeluGradOp : Tandem_PassThroughOp<"gelu_grad"> {
  let summary = "the gradient of gelu";
  let description = [{
    ```mlir
    %dx = tandem.gelu_grad %x, %dy {approximate = #tandem.gelu<tanh>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    The derivative at x times dy. Linear in dy.

    Constraints:
    1. dy and the result have the operand's shape and element type.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_FloatTensor:$gradient,
      DefaultValuedAttr<Tandem_GeluKindAttr, "::tandem::GeluKind::None">:$approximate);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_SiluGradOp : Tandem_PassThroughOp<"silu_grad"> {
  let summary = "the gradient of silu";
  let description = [{
    ```mlir
    %dx = tandem.silu_grad %x, %dy : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    The derivative at x times dy. Linear in dy.

    Constraints:
    1. dy and the result have the operand's shape and element type.
  }];
  let arguments = (ins Tandem_FloatTensor:$input, Tandem_FloatTensor:$gradient);
  let results = (outs Tandem_FloatTensor:$result);
  let assemblyFormat = "$input `,` $gradient attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_ACTIVATION_TD

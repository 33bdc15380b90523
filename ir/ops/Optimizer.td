//===- Optimizer.td - A step of a parameter ----------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_OPTIMIZER_TD
#define TANDEM_IR_OPS_OPTIMIZER_TD

include "ir/ops/Base.td"

def Tandem_AdamWOp : Tandem_TensorOp<"adamw", [
    AllTypesMatch<["parameter", "new_parameter"]>,
    AllTypesMatch<["exp_avg", "new_exp_avg"]>,
    AllTypesMatch<["exp_avg_sq", "new_exp_avg_sq"]>]> {
  let summary = "a step of Adam with decoupled weight decay";
  let description = [{
    ```mlir
    %p2, %m2, %v2 = tandem.adamw %p, %m, %v, %g, %scale, %lr, %beta1, %beta2, %epsilon, %wd, %step {decay} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    ```
    Lane by lane, for step t, 1 the first:
    ```
    g = scale g
    p = (1 - lr wd) p                 with `decay`
    m = beta1 m + (1 - beta1) g
    v = beta2 v + (1 - beta2) g^2
    p = p - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
    ```
    Results take the places of the first three operands.

    Constraints:
    1. the first four operands and the results have one shape and element
       type, f32 or f64;
    2. the others have no dimensions, and that element type; the step is an
       integer.
  }];
  let arguments = (ins Tandem_FloatTensor:$parameter, Tandem_FloatTensor:$exp_avg,
      Tandem_FloatTensor:$exp_avg_sq, Tandem_FloatTensor:$gradient,
      Tandem_FloatTensor:$scale, Tandem_FloatTensor:$learning_rate,
      Tandem_FloatTensor:$beta1, Tandem_FloatTensor:$beta2,
      Tandem_FloatTensor:$epsilon, Tandem_FloatTensor:$weight_decay,
      Tandem_IntTensor:$step, UnitAttr:$decay);
  let results = (outs Tandem_FloatTensor:$new_parameter,
      Tandem_FloatTensor:$new_exp_avg, Tandem_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_SgdOp : Tandem_TensorOp<"sgd", [
    AllTypesMatch<["parameter", "new_parameter"]>,
    AllTypesMatch<["momentum_buffer", "new_momentum_buffer"]>]> {
  let summary = "a step of gradient descent with momentum";
  let description = [{
    ```mlir
    %p2, %m2 = tandem.sgd %p, %m, %g, %scale, %lr, %momentum, %wd {decay} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
    Lane by lane:
    ```
    g = scale g + wd p                with `decay`, else scale g
    m = momentum m + g
    p = p - lr m
    ```
    Results take the places of the first two operands.

    Constraints:
    1. the first three operands and the results have one shape and element
       type, f32 or f64;
    2. the others have no dimensions, and that element type.
  }];
  let arguments = (ins Tandem_FloatTensor:$parameter,
      Tandem_FloatTensor:$momentum_buffer, Tandem_FloatTensor:$gradient,
      Tandem_FloatTensor:$scale, Tandem_FloatTensor:$learning_rate,
      Tandem_FloatTensor:$momentum, Tandem_FloatTensor:$weight_decay,
      UnitAttr:$decay);
  let results = (outs Tandem_FloatTensor:$new_parameter,
      Tandem_FloatTensor:$new_momentum_buffer);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_OPTIMIZER_TD

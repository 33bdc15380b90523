//===- Passes.td - From a loss to gradients ----------------*- tablegen -*-===//

#ifndef TANDEM_PASSES_AUTODIFF_PASSES_TD
#define TANDEM_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"tandem-differentiate", "::mlir::ModuleOp"> {
  let summary = "add the gradients of a loss to its function";
  let description = [{
    Precondition: phase 1. Functions with `tandem.differentiate` have a result
    whose `tandem.output` is "loss", a float without dimensions, and
    parameters that are floats; others are left alone.

    Transformation: reverse mode, operation by operation from the last to the
    first, through `DifferentiableOpInterface`. Gradients of a value with
    several uses are one `tandem.sum`. Where the uses of a value that is there
    before the microbatches (a parameter, its cast) are in the body of the step
    (`ir/Microbatches.h`), each layer's gradients are added there and their
    sum passes a `tandem.accumulate`. What is created carries
    `tandem.backward` and the layer and location of the operation that it
    belongs to; the layer of a parameter's sum is that of its first use.

    Postcondition: phase 1; the function has a result more for each parameter,
    with `tandem.output = "grad.KEY"` and `tandem.gradient`, the parameter's
    view. Further views of one key are "grad.KEY#2" and so on. Gradients are
    f32, of f64 parameters f64, and lie as the parameter is annotated to. That
    of a parameter that the loss does not depend on is zero.

    ```mlir
    func.func @f(%x: tensor<4x8xf32> {tandem.input = "x"},
                 %w: tensor<8xf32> {tandem.parameter = #tandem.view<"w">})
        -> (tensor<f32> {tandem.output = "loss"})
        attributes {tandem.differentiate} {
      %0 = tandem.einsum "bd,d->b" %x, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
      %1 = tandem.reduce sum, %0 [0] : (tensor<4xf32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    ```
    gets the result `einsum "b,bd->d"` of ones and `%x`.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def AddOptimizer : Pass<"tandem-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "turn gradients into a step of the parameters";
  let description = [{
    Precondition: phase 1. Functions with `tandem.optimizer`, "adamw" or "sgd",
    have gradients of their parameters as results (tandem-differentiate); those
    parameters are f32 or f64.

    Transformation: the norm of all gradients together, the factor that clips
    it to `clip_norm` (0 clips nothing), and for each parameter a step of the
    optimizer, whose states, zeros at first, are named after it. Settings are
    inputs without dimensions, so that a plan serves all of them:
    `learning_rate`, `weight_decay`, `clip_norm`, for adamw `beta1`, `beta2`,
    `epsilon` and `step` (1 the first), for sgd `momentum`. Weight decays only
    of tensors that are *stored* with two dimensions or more. What is created
    has the layer of the parameter's first use.

    Postcondition: phase 1; gradients are no results any more; results are what
    the function gave beside them, `grad_norm` (before clipping), and new
    values of parameters and states, tied to their arguments by
    `tandem.aliases`. States carry `tandem.moment`, the view of their
    parameter.

    ```mlir
    func.func @f(%x: tensor<8xf32> {tandem.input = "x"},
                 %w: tensor<8xf32> {tandem.parameter = #tandem.view<"w">})
        -> (tensor<f32> {tandem.output = "loss"},
            tensor<8xf32> {tandem.output = "grad.w", tandem.gradient = #tandem.view<"w">})
        attributes {tandem.optimizer = "sgd"} {
      %0 = tandem.einsum "d,d->" %x, %w : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
      return %0, %x : tensor<f32>, tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_AUTODIFF_PASSES_TD

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

#endif // TANDEM_PASSES_AUTODIFF_PASSES_TD

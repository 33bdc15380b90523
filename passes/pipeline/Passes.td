//===- Passes.td - Cutting a model into stages -------------*- tablegen -*-===//

#ifndef TANDEM_PASSES_PIPELINE_PASSES_TD
#define TANDEM_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStages : Pass<"tandem-assign-stages", "::mlir::ModuleOp"> {
  let summary = "mark each operation with the stage that runs it";
  let description = [{
    Precondition: a phase-1 module whose operations carry `tandem.layer`.

    Transformation: the units (embedding, layers, head) are cut into as many
    contiguous runs as the mesh's `pp` axis has positions, so that the slowest
    is as fast as it can be (`passes/strategy/StageAssignment.h`). A unit's
    cost is its share of each entry's work: floating-point operations of
    products and attention, and one for each element that other operations
    give.

    Postcondition: every operation with a layer has `tandem.stage`.

    ```mlir
    tandem.mesh @mesh = <["pp"=2]>
    func.func @f(%x: tensor<4x4xf32>, %a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = tandem.einsum "bd,de->be" %x, %a {tandem.layer = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %1 = tandem.einsum "bd,de->be" %0, %b {tandem.layer = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      return %1 : tensor<4x4xf32>
    }
    ```
    puts layer 0 on stage 0 and layer 1 on stage 1.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def SplitStages : Pass<"tandem-split-stages", "::mlir::ModuleOp"> {
  let summary = "one function for each stage, values sent between them";
  let description = [{
    Precondition: phase 2, operations marked by `assign-stages`.

    Transformation: each function becomes one for each `pp` coordinate, with
    the operations of its stage. A value that another stage needs is sent
    right behind its definition and received at that stage's start, in the
    order of the senders' stages and of their definitions. A value that an
    earlier stage needs is an error: values go forward only, so that no cycle
    can arise.
    Operations that depend on constants and entry inputs alone
    are cloned. A result marked `tandem.everywhere` is broadcast over `pp`.

    Postcondition: phase 3; functions carry `tandem.entry` and `tandem.pp`.

    ```mlir
    tandem.mesh @mesh = <["pp"=2]>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tandem.unary exp, %x {tandem.stage = 0 : i64} : tensor<4xf32>
      %1 = tandem.sum %0, %x {tandem.stage = 1 : i64} : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_PIPELINE_PASSES_TD

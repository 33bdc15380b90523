//===- Passes.td - Cutting a model into stages -------------*- tablegen -*-===//

#ifndef TANDEM_PASSES_PIPELINE_PASSES_TD
#define TANDEM_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStages : Pass<"tandem-assign-stages", "::mlir::ModuleOp"> {
  let summary = "mark each operation with the stage that runs it";
  let description = [{
    Precondition: a phase-1 module whose operations carry `tandem.layer`.

    Transformation: the units (embedding, layers, head) are cut into as many
    contiguous runs as the schedule has stages (`ChosenSchedule.h`: module
    attributes `tandem.schedule_name`, `tandem.virtual_stages`,
    `tandem.schedule_text`; one for each position of the mesh's `pp` axis where
    there are none), so that the slowest is as fast as it can be (`passes/strategy/StageAssignment.h`). A unit's
    cost is its share of each entry's work: floating-point operations of
    products and attention, and one for each element that other operations
    give; of a training step what runs for each microbatch counts so often.

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

def Recompute : Pass<"tandem-recompute", "::mlir::ModuleOp"> {
  let summary = "make values again where backward reads them, not keep them";
  let description = [{
    Precondition: phase 2, collectives combined: what is made again is to be
    what was made, and clones in front of that pass would be merged with their
    originals.

    Transformation: of functions with a backward pass, what its operations
    (`tandem.backward`) read of the forward pass and the module's
    `tandem.recompute` does not keep is cloned, collectives included, in front
    of its first reader there:

    * "none", or no attribute: all is kept;
    * "selective": what `attention` gives is made again;
    * "full": all is made again but what goes from one layer to another;
    * "0,2,5-7": the same of these layers.

    The embedding and the head keep what they made.
    Parameters that lie split and are gathered whole are never kept: each
    layer gathers its own in front of their first reader, and once more for
    its backward pass.

    Postcondition: phase 2; clones carry `tandem.recomputed`, and are of the
    body of a step (`ir/Microbatches.h`). Values are the same, to the bit.

    ```mlir
    module attributes {tandem.recompute = "full"} {
      func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = tandem.unary exp, %x {tandem.layer = 0 : i64} : tensor<4xf32>
        %1 = tandem.unary neg, %0 {tandem.layer = 1 : i64} : tensor<4xf32>
        %2 = tandem.binary mul, %1, %0 {tandem.layer = 0 : i64, tandem.backward} : tensor<4xf32>
        return %2 : tensor<4xf32>
      }
    }
    ```
    keeps `%0`, which layer 1 reads, and `%1`, which is of the head.
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

def SplitStages : Pass<"tandem-split-stages", "::mlir::ModuleOp"> {
  let summary = "one function for each stage, values sent between them";
  let description = [{
    Precondition: phase 2, operations marked by `assign-stages`.

    Transformation: each function becomes one for each `pp` coordinate, with
    the operations of its stages. A value that another coordinate needs is sent
    right behind its definition and received in front of its first use there,
    but transfers of one coordinate keep the order of the whole, so that none
    waits for another in a circle. Forward values go to later stages, gradients
    to earlier ones; anything else is an error. Operations that depend on
    constants and entry inputs alone, or on constants and parameters alone, are
    cloned. The epilogue of a training step goes where its results are wanted
    (`StagePlacement.h`): a parameter is updated by every coordinate that holds
    it, and a sum of scalars of several coordinates, or of vectors that only
    scalars are made of, becomes each one's own terms and an `all_reduce` over
    `pp`. A result marked `tandem.everywhere` is broadcast over `pp`.

    A function with microbatches gets actions and a schedule
    (`ir/Actions.h`): operations marked `tandem.backward` are backward, and
    with a schedule that splits backward, what no other stage and no earlier
    layer waits for is of weights.

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

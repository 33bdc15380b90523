//===- Passes.td - Spreading shardings ---------------------*- tablegen -*-===//

#ifndef TANDEM_PASSES_PROPAGATE_PASSES_TD
#define TANDEM_PASSES_PROPAGATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagateShardings
    : Pass<"tandem-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "spread partial annotations to a sharding on every value";
  let description = [{
    Precondition: a phase-1 module; arguments, results and
    `sharding_constraint` operations may carry shardings.

    Transformation: annotations of stronger user priorities spread by a fixed
    point over the operations' sharding rules, with the rungs of
    `passes/propagate/Propagation.h`; then all that is open is decided
    together, for the fewest bytes on the wire
    (`passes/propagate/OpenOps.h`). Arguments of different
    functions with one parameter view or state name are one value, and so is
    the result that replaces a state.

    Postcondition: every argument and result of a function has
    `tandem.sharding`; every operation `tandem.shardings`, which says how each
    result lies where it is made, unreduced axes included, and
    `tandem.choice`, which factor has which axes, which operands come
    unreduced and which terms of a sum are added first. A remark tells of each
    operation that was open what was chosen and what each alternative costs;
    a warning what the ranks repeat, and which annotation would mend that.

    ```mlir
    tandem.mesh @mesh = <["tp"=2]>
    func.func @mlp(%x: tensor<4x8xf32>,
                   %up: tensor<8x16xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp"} ]>},
                   %down: tensor<16x8xf32>) -> tensor<4x8xf32> {
      %0 = tandem.einsum "bd,df->bf" %x, %up : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
      %1 = tandem.einsum "bf,fd->bd" %0, %down : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    ```
    makes %0 split by "tp" in dimension 1, %down in dimension 0, and %1
    unreduced over "tp".
  }];
  let options = [
    Option<"userPriorities", "user-priorities", "bool", "true",
           "spread annotations of stronger user priority first">,
    Option<"opPriorities", "op-priorities", "bool", "true",
           "visit operations that only move elements first">,
    Option<"aggressive", "aggressive", "bool", "true",
           "let a factor take axes that another factor of the operation has">,
    Option<"openOps", "open-ops", "bool", "true",
           "decide what is left open for all operations together, by bytes">,
  ];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_PROPAGATE_PASSES_TD

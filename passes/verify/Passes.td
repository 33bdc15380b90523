//===- Passes.td - What must hold between steps ------------*- tablegen -*-===//

#ifndef TANDEM_PASSES_VERIFY_PASSES_TD
#define TANDEM_PASSES_VERIFY_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPhase : Pass<"tandem-verify-phase", "::mlir::ModuleOp"> {
  let summary = "check that a module is what its phase may hold";
  let description = [{
    Precondition: any module of the dialect.

    Transformation: none. Errors are:
    * an operation of the dialect that declares other phases than `phase`;
    * a tensor without the encoding `#tandem.local` in phases 2 and 3, or with
      it in phase 1, and one that is not in a buffer in phase 4;
    * where some operations of a function carry `tandem.layer`, one that does
      not and depends on more than constants;
    * actions and a schedule that do not fit each other or the operations
      (`ir/Actions.h`).

    Postcondition: the module as it was.

    ```mlir
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tandem.unary exp, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"phase", "phase", "unsigned", "1", "1 global, 2 local, 3 staged, 4 exec">,
  ];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_VERIFY_PASSES_TD

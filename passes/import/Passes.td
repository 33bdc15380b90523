//===- Passes.td - Other dialects' words as ours -----------*- tablegen -*-===//

#ifndef TANDEM_PASSES_IMPORT_PASSES_TD
#define TANDEM_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportSdy : Pass<"tandem-import-sdy", "::mlir::ModuleOp"> {
  let summary = "read Shardy's annotations as ours";
  let description = [{
    Precondition: any module. The dialect `sdy` need not be known: its
    operations stand in generic form, its attributes are read from their text
    (`tandem-opt` wants `--allow-unregistered-dialect` for that).

    Transformation:
    * `sdy.mesh` becomes `tandem.mesh`. A module has one: meshes of equal axes
      are one, a mesh without axes is the module's, and a mesh that is written
      out within a sharding counts as one of the module.
    * `sdy.sharding` of a function's argument or result becomes
      `tandem.sharding`. On an operation it becomes a `sharding_constraint` of
      each result that it says something of.
    * `sdy.sharding_constraint` and `sdy.reshard` become
      `tandem.sharding_constraint`.

    Refused are meshes that differ or number their devices otherwise than
    row-major, and the other operations of `sdy`. What belongs to other
    dialects stays as it is.

    Postcondition: no operation and no sharding of `sdy` is left.

    ```mlir
    module {
      "sdy.mesh"() <{mesh = #sdy.mesh<["tp"=2]>, sym_name = "mesh"}> : () -> ()
      func.func @f(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"tp", ?}p1 ]>}) -> tensor<4x8xf32> {
        %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@mesh, [{"tp"}, {} ]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
        return %0 : tensor<4x8xf32>
      }
    }
    ```
    becomes
    ```mlir
    tandem.mesh @mesh = <["tp"=2]>
    func.func @f(%x: tensor<4x8xf32> {tandem.sharding = #tandem.sharding<@mesh, [{}, {"tp", ?}p1 ]>}) -> tensor<4x8xf32> {
      %0 = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{"tp"}, {} ]>} : tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::tandem::TandemDialect"];
}

#endif // TANDEM_PASSES_IMPORT_PASSES_TD

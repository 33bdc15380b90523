//===- Base.td - Classes that all operations derive from ---*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_BASE_TD
#define TANDEM_IR_OPS_BASE_TD

include "ir/Dialect.td"
include "ir/Interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

/// Any operation of the dialect; `phaseBits` has bit p - 1 for phase p.
class Tandem_Op<string opMnemonic, int phaseBits, list<Trait> traits = []>
    : Op<Tandem_Dialect, opMnemonic,
         !listconcat(traits, [PhaseOpInterface])> {
  code phaseDeclaration = "static unsigned getPhases() { return "
      # phaseBits # "; }\n";
  let extraClassDeclaration = phaseDeclaration;
}

/// An operation on tensors of phases 1 to 3: pure, with a rule, a meaning and
/// a kernel.
class Tandem_TensorOp<string opMnemonic, list<Trait> traits = []>
    : Tandem_Op<opMnemonic, 7, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<ReferenceOpInterface>,
        DeclareOpInterfaceMethods<KernelOpInterface>])>;

class Tandem_PassThroughOp<string opMnemonic, list<Trait> traits = []>
    : Tandem_Op<opMnemonic, 7, !listconcat(traits, [Pure,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface>,
        DeclareOpInterfaceMethods<ReferenceOpInterface>,
        DeclareOpInterfaceMethods<KernelOpInterface>])> {
  let extraClassDeclaration = phaseDeclaration # [{
    bool isPassThrough() { return true; }
  }];
}

/// Sizes are known, elements have a number in plans.
def Tandem_Tensor : Type<CPred<"::tandem::isTensor($_self)">,
                         "tensor of known sizes", "::mlir::RankedTensorType">;
def Tandem_FloatTensor : Type<And<[Tandem_Tensor.predicate,
    CPred<"::llvm::isa<::mlir::FloatType>(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">]>,
    "tensor of known sizes and floats", "::mlir::RankedTensorType">;
def Tandem_IntTensor : Type<And<[Tandem_Tensor.predicate,
    CPred<"::llvm::isa<::mlir::IntegerType>(::llvm::cast<::mlir::RankedTensorType>($_self).getElementType())">]>,
    "tensor of known sizes and integers", "::mlir::RankedTensorType">;
def Tandem_BoolTensor : Type<And<[Tandem_Tensor.predicate,
    CPred<"::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(1)">]>,
    "tensor of known sizes and i1", "::mlir::RankedTensorType">;

#endif // TANDEM_IR_OPS_BASE_TD

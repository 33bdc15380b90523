//===- Interfaces.td - What passes ask of operations -------*- tablegen -*-===//
//
// No pass switches over operation names: what it must know of an operation
// stands in one of these interfaces, next to the operation.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_INTERFACES_TD
#define TANDEM_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    How the dimensions of operands and results belong together; see
    `runtime/mesh/Rule.h`. An operation on tensors without this interface is
    an error for propagation, never silently replicated.
  }];
  let methods = [
    InterfaceMethod<"The rule, over the global shapes.",
        "::tandem::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{Whether the operation only moves or renames elements,
        so that propagation may try it first.}],
        "bool", "isPassThrough", (ins), "", "return false;">,
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::tandem";
  let description = "What an operation costs on the shapes that its types state.";
  let methods = [
    InterfaceMethod<"Floating-point operations of products (2 a multiply-add).",
        "uint64_t", "getFlops", (ins), "", "return 0;">,
  ];
}

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    The meaning of an operation, in float64, plainly and slowly. Operands and
    results are what one rank holds; `results` come shaped and filled with NaN.
  }];
  let methods = [
    InterfaceMethod<"Computes the results' valid lanes.",
        "::mlir::LogicalResult", "evaluate",
        (ins "::llvm::ArrayRef<const ::tandem::Tensor *>":$operands,
             "::llvm::MutableArrayRef<::tandem::Tensor>":$results)>,
  ];
}

def SelectionOpInterface : OpInterface<"SelectionOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    An operation that selects along a dimension and can do so piece by piece:
    its selection factor may be split, each rank giving candidates.
  }];
  let methods = [
    InterfaceMethod<"Whether candidates of that many pieces are fewer than all.",
        "bool", "shrinksTo", (ins "int64_t":$pieces)>,
    InterfaceMethod<[{Creates the operation that gives the candidates of each
        piece (first) and the one that chooses among them (last), whose results
        are this operation's.}],
        "::llvm::SmallVector<::mlir::Operation *>", "expand",
        (ins "::mlir::OpBuilder &":$builder, "int64_t":$pieces)>,
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    Which kernel computes an operation, for `lower-to-exec`.
  }];
  let methods = [
    InterfaceMethod<[{The kernel's name, its numbers and which operand's
        buffer a result may or must share.}],
        "::tandem::KernelSpec", "getKernelSpec">,
  ];
}

def PhaseOpInterface : OpInterface<"PhaseOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    In which phases an operation may stand: bit p - 1 for phase p. Local
    tensors of any operation have the shape that their encoding implies.
  }];
  let verify = [{ return ::tandem::verifyLocalTypes($_op); }];
  let methods = [
    StaticInterfaceMethod<"The phases as bits.", "unsigned", "getPhases">,
  ];
}

#endif // TANDEM_IR_INTERFACES_TD

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

def PartitionOpInterface : OpInterface<"PartitionOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    An operation with a local form: what it looks at as a whole (a *selection*
    factor: the dimension of a norm, a softmax, a top_k) may be split, and
    ranks exchange something smaller. The local form is written in operations
    on global tensors whose rules are plain, so that nothing else has to know
    it:

    ```
    %y = tandem.softmax %x
    // is, with the last dimension over "tp",
    %m = tandem.reduce max, %x [1]          // maxima: all_reduce
    %d = tandem.binary sub, %x, broadcast %m
    %e = tandem.unary exp, %d
    %s = tandem.reduce sum, %e [1]          // sums: all_reduce
    %y = tandem.binary div, %e, broadcast %s
    ```

    Operations that look up what a rank owns (embedding, gather, slice) need
    none: the dimension is a *reduction* factor, each rank contributes zeros
    for what it does not hold.
  }];
  let methods = [
    InterfaceMethod<[{What ranks exchange when `factor` is split into `pieces`:
        the bytes of an all_reduce that costs as much, of the unsharded
        tensors; other factors that are split divide it. Nothing where the
        operation has no local form for so many pieces. The gathered operand
        is the alternative.}],
        "std::optional<int64_t>", "combinedBytes",
        (ins "int32_t":$factor, "int64_t":$pieces)>,
    InterfaceMethod<[{Creates the local form where `factor` is split into
        `pieces`; the values that stand for this operation's results.}],
        "::llvm::SmallVector<::mlir::Value>", "expand",
        (ins "::mlir::OpBuilder &":$builder, "int32_t":$factor,
             "int64_t":$pieces)>,
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::tandem";
  let description = [{
    An operation's vector-Jacobian product, written in operations: reverse mode
    (`passes/autodiff`) asks for it once it knows the gradients of the results.
  }];
  let methods = [
    InterfaceMethod<[{Creates the gradients of the operands from those of the
        results. `gradients` has one value a result, of its type; null where
        the loss does not depend on it. The answer has one a operand; null
        where there is none (integers, or a derivative of zero everywhere).
        The operation stays; its operands and results may be read.}],
        "::llvm::SmallVector<::mlir::Value>", "differentiate",
        (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$gradients)>,
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

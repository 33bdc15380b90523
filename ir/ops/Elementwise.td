//===- Elementwise.td - Lane by lane -----------------------*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_ELEMENTWISE_TD
#define TANDEM_IR_OPS_ELEMENTWISE_TD

include "ir/ops/Base.td"

def Tandem_UnaryOp : Tandem_PassThroughOp<"unary", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "an elementwise function of one operand";
  let description = [{
    ```mlir
    %y = tandem.unary exp, %x : tensor<4x8xf32>
    ```
    Linear for `neg`. `not` wants `i1`, the others floats (`neg` and `abs`
    also integers).

    Constraints:
    1. the element type suits the function.
  }];
  let arguments = (ins Tandem_UnaryKindAttr:$kind, Tandem_Tensor:$input);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$kind `,` $input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tandem_BinaryOp : Tandem_PassThroughOp<"binary", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "an elementwise function of two operands of one type";
  let description = [{
    ```mlir
    %z = tandem.binary mul, %x, %y : tensor<4x8xf32>
    ```
    Operands have one shape: broadcasts are explicit. `mul` is linear in each
    operand while the other stays reduced, `sub` in both together, `div` in
    the left. Sums are `tandem.sum`. Types are written one by one, as
    `(L, R) -> T`, where they differ: local tensors of which one is unreduced.

    Constraints:
    1. `and` and `or` take `i1`, the others numbers;
    2. operands and result have one global shape and element type.
  }];
  let arguments = (ins Tandem_BinaryKindAttr:$kind, Tandem_Tensor:$lhs,
                       Tandem_Tensor:$rhs);
  let results = (outs Tandem_Tensor:$result);
  let builders = [OpBuilder<(ins "::tandem::BinaryKind":$kind,
                                 "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), kind, lhs, rhs);
  }]>];
  let assemblyFormat = [{
    $kind `,` $lhs `,` $rhs attr-dict `:`
    custom<BinaryTypes>(type($lhs), type($rhs), type($result))
  }];
  let hasVerifier = 1;
}

def Tandem_CompareOp : Tandem_PassThroughOp<"compare", [AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "an elementwise comparison";
  let description = [{
    ```mlir
    %m = tandem.compare lt, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
    Constraints:
    1. the result has the operands' shape.
  }];
  let arguments = (ins Tandem_CompareKindAttr:$kind, Tandem_Tensor:$lhs,
                       Tandem_Tensor:$rhs);
  let results = (outs Tandem_BoolTensor:$result);
  let assemblyFormat = "$kind `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_SelectOp : Tandem_PassThroughOp<"select", [AllTypesMatch<["onTrue", "onFalse", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "lanes of one operand or the other";
  let description = [{
    ```mlir
    %z = tandem.select %m, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    Linear in both values together.

    Constraints:
    1. the condition has the result's shape.
  }];
  let arguments = (ins Tandem_BoolTensor:$condition, Tandem_Tensor:$onTrue,
                       Tandem_Tensor:$onFalse);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$condition `,` $onTrue `,` $onFalse attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_CastOp : Tandem_PassThroughOp<"cast", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the same values in another element type";
  let description = [{
    ```mlir
    %y = tandem.cast %x : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    ```
    To an integer it truncates toward zero. Folds when the types agree.

    Constraints:
    1. the result has the operand's shape.
  }];
  let arguments = (ins Tandem_Tensor:$input);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tandem_SumOp : Tandem_PassThroughOp<"sum", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the sum of any number of tensors of one type";
  let description = [{
    ```mlir
    %y = tandem.sum %a, %b, %c : tensor<4x8xf32>
    ```
    Added from left to right. A chain of adds is one `sum`, so that unreduced
    terms can be added first and reduced once; a sum whose operand is a sum
    with no other use is flattened, a sum of one operand folds to it.

    Constraints:
    1. there is at least one operand;
    2. operands have the result's type.
  }];
  let arguments = (ins Variadic<Tandem_Tensor>:$inputs);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs), [{
    build($_builder, $_state, inputs[0].getType(), inputs);
  }]>];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Tandem_ShardingConstraintOp : Tandem_PassThroughOp<"sharding_constraint", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the identity, where an activation is named and annotated";
  let description = [{
    ```mlir
    %y = tandem.sharding_constraint %x {sharding = #tandem.sharding<@mesh, [{"dp"}, {} ]>} : tensor<4x8xf32>
    %h = tandem.sharding_constraint %q {view = #tandem.view<"@heads"[2, 13, 48], heads(2, 2, 2, 12)>} : tensor<2x13x2x2x12xf32>
    ```
    Never folded: the partitioner removes it. Its sharding is never overridden
    by cost. `view` gives the activation a name that annotations use, and how
    the dimensions that people speak of become the tensor's.
  }];
  let arguments = (ins Tandem_Tensor:$input,
                       OptionalAttr<Tandem_ShardingAttr>:$sharding,
                       OptionalAttr<Tandem_ViewAttr>:$view);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // TANDEM_IR_OPS_ELEMENTWISE_TD

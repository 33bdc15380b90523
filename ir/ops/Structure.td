//===- Structure.td - Meshes, reshards and collectives -----*- tablegen -*-===//

#ifndef TANDEM_IR_OPS_STRUCTURE_TD
#define TANDEM_IR_OPS_STRUCTURE_TD

include "ir/ops/Base.td"
include "mlir/IR/SymbolInterfaces.td"

def Tandem_MeshOp : Tandem_Op<"mesh", 15, [Symbol]> {
  let summary = "the mesh that shardings of this module speak of";
  let description = [{
    ```mlir
    tandem.mesh @mesh = <["pp"=2, "tp"=4]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tandem_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def Tandem_ReshardOp : Tandem_Op<"reshard", 1, [Pure,
    AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<ReferenceOpInterface>]> {
  let summary = "the same tensor, laid out otherwise";
  let description = [{
    ```mlir
    %y = tandem.reshard %x {sharding = #tandem.sharding<@mesh, [{"tp"}, {} ]>, cause = "einsum"} : tensor<8x24xf32>
    ```
    Made by insert-reshards, turned into collectives by partition. `cause`
    says which operation wants it so.
  }];
  let arguments = (ins Tandem_Tensor:$input, Tandem_ShardingAttr:$sharding,
                       StrAttr:$cause);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

/// A collective on local tensors: phases 2 and 3. Formed by named passes only.
class Tandem_CollectiveOp<string opMnemonic, dag extraArguments,
                          string extraFormat>
    : Tandem_Op<opMnemonic, 6, [Pure]> {
  let arguments = !con((ins Tandem_Tensor:$input, Tandem_AxesAttr:$axes),
                       extraArguments, (ins StrAttr:$cause));
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "$input `over` $axes " # extraFormat #
      " `cause` $cause attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Tandem_AllReduceOp : Tandem_CollectiveOp<"all_reduce", (ins), ""> {
  let summary = "unreduced terms brought together on every rank of a group";
  let description = [{
    ```mlir
    %y = tandem.all_reduce %x over <"tp"> cause "sum" : (tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {} ], unreduced={"tp"}>>) -> tensor<4x6xf32, #tandem.local<[4, 6], @mesh, [{}, {} ]>>
    ```
    Constraints:
    1. the operand is unreduced over the axes, the result is not; nothing else
       changes.
  }];
}
def Tandem_AllGatherOp : Tandem_CollectiveOp<"all_gather", (ins I64Attr:$dim), "`dim` $dim"> {
  let summary = "the pieces of a dimension put together on every rank of a group";
  let description = [{
    Constraints:
    1. the axes are the minor-most of the operand's dimension `dim`, and the
       result's dimension lacks them.
  }];
}
def Tandem_ReduceScatterOp : Tandem_CollectiveOp<"reduce_scatter", (ins I64Attr:$dim), "`dim` $dim"> {
  let summary = "unreduced terms summed, each rank of a group keeping its piece";
  let description = [{
    Constraints:
    1. the operand is unreduced over the axes; the result's dimension `dim` has
       them as its minor-most.
  }];
}
def Tandem_AllToAllOp : Tandem_CollectiveOp<"all_to_all", (ins I64Attr:$from_dim, I64Attr:$dim), "`from` $from_dim `to` $dim"> {
  let summary = "axes moved from one dimension to another";
  let description = [{
    Constraints:
    1. the axes are the minor-most of the operand's dimension `from_dim` and of
       the result's dimension `dim`.
  }];
}
def Tandem_AllSliceOp : Tandem_CollectiveOp<"all_slice", (ins I64Attr:$dim), "`dim` $dim"> {
  let summary = "each rank of a group keeps its piece of a dimension";
  let description = [{
    Moves nothing between ranks.

    Constraints:
    1. the result's dimension `dim` has the axes as its minor-most and the
       operand's lacks them.
  }];
}
def Tandem_PermuteOp : Tandem_CollectiveOp<"permute", (ins), ""> {
  let summary = "every rank receives its piece from the rank that holds it";
  let description = [{
    Between two layouts with equal local shapes, such as a dimension split by
    ("x", "y") and one split by ("y", "x"). `axes` are those over which ranks
    exchange.

    Constraints:
    1. local shapes and unreduced axes agree;
    2. each dimension is split by as many ranks as before.
  }];
}
def Tandem_BroadcastOp : Tandem_CollectiveOp<"broadcast", (ins I64Attr:$root), "`root` $root"> {
  let summary = "the tensor of one rank of a group given to all";
  let description = [{
    Constraints:
    1. types agree;
    2. `root` is a position of the group.
  }];
}

def Tandem_SendOp : Tandem_Op<"send", 4, []> {
  let summary = "give a tensor to another stage";
  let description = [{
    ```mlir
    tandem.send %x to 1 : tensor<2x5x48xf32>
    ```
    To the rank with `pp` coordinate `peer` and equal other coordinates. What
    one coordinate sends to another in one `lane` is received in that order.
  }];
  let arguments = (ins Tandem_Tensor:$input, I64Attr:$peer,
                       DefaultValuedAttr<I64Attr, "0">:$lane);
  let assemblyFormat = "$input `to` $peer attr-dict `:` type($input)";
}
def Tandem_RecvOp : Tandem_Op<"recv", 4, []> {
  let summary = "take a tensor from another stage";
  let description = [{
    ```mlir
    %x = tandem.recv from 0 : tensor<2x5x48xf32>
    ```
  }];
  let arguments = (ins I64Attr:$peer, DefaultValuedAttr<I64Attr, "0">:$lane);
  let results = (outs Tandem_Tensor:$result);
  let assemblyFormat = "`from` $peer attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Phase 4
//===----------------------------------------------------------------------===//

def Tandem_AllocOp : Tandem_Op<"alloc", 8> {
  let summary = "a buffer in the rank's arena";
  let description = [{
    ```mlir
    %b = tandem.alloc {offset = 4096 : i64} : !tandem.buffer<tensor<2x5x48xf32>>
    ```
    `offset` is set by place-buffers: from the start of the arena's scratch
    part or, where there is a `pool`, of the slot that the running microbatch
    has in it.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$pool);
  let results = (outs Tandem_BufferType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tandem_RenameOp : Tandem_Op<"rename", 8, [Pure]> {
  let summary = "the same memory as another tensor";
  let description = [{
    ```mlir
    %c = tandem.rename %b : (!tandem.buffer<tensor<4x6xf32>>) -> !tandem.buffer<tensor<24xf32>>
    ```
    Where a reshape moves nothing.
  }];
  let arguments = (ins Tandem_BufferType:$input);
  let results = (outs Tandem_BufferType:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Tandem_MicrobatchViewOp : Tandem_Op<"microbatch_view", 8, [Pure]> {
  let summary = "the current microbatch's slice of a batch's memory";
  let description = [{
    ```mlir
    %c = tandem.microbatch_view %b : (!tandem.buffer<tensor<4x2x13xi32>>) -> !tandem.buffer<tensor<2x13xi32>>
    ```
    Its address follows from the microbatch that the schedule runs; it is only
    read.
  }];
  let arguments = (ins Tandem_BufferType:$input);
  let results = (outs Tandem_BufferType:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Tandem_LaunchOp : Tandem_Op<"launch", 8, [AttrSizedOperandSegments]> {
  let summary = "run a kernel on buffers";
  let description = [{
    ```mlir
    tandem.launch "map" ins(%x : !tandem.buffer<tensor<2x6xf32>>) outs(%y : !tandem.buffer<tensor<2x6xf32>>) {numbers = array<i64: 0, 0, 11, 0>, rule = #tandem.rule<"([i, j]) -> ([i, j]) {i=2, j=6}">}
    ```
    `in_place` names the operand whose buffer the first output may take over.
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<Tandem_BufferType>:$inputs,
      Variadic<Tandem_BufferType>:$outputs,
      Variadic<Tandem_BufferType>:$workspace,
      DenseI64ArrayAttr:$numbers, Tandem_RuleAttr:$rule,
      OptionalAttr<I64Attr>:$in_place);
  let assemblyFormat = [{
    $kernel `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:` type($outputs) `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict
  }];
}

def Tandem_CommunicateOp : Tandem_Op<"communicate", 8, [AttrSizedOperandSegments]> {
  let summary = "a collective, send or receive on buffers";
  let description = [{
    ```mlir
    tandem.communicate "all_reduce" ins(%x : !tandem.buffer<tensor<2x6xf32>>) outs(%y : !tandem.buffer<tensor<2x6xf32>>) {axes = #tandem.axes<"tp">, cause = "sum"}
    ```
    `collective` is the name of the phase-2 operation; its attributes keep
    their names. `target` is the peer of a send or recv, the root of a
    broadcast; `dim` is the lane of a send or recv.
  }];
  let arguments = (ins StrAttr:$collective, Variadic<Tandem_BufferType>:$inputs,
      Variadic<Tandem_BufferType>:$outputs,
      Variadic<Tandem_BufferType>:$workspace,
      OptionalAttr<Tandem_AxesAttr>:$axes,
      DefaultValuedAttr<I64Attr, "0">:$dim,
      DefaultValuedAttr<I64Attr, "0">:$from_dim,
      DefaultValuedAttr<I64Attr, "0">:$target,
      DefaultValuedAttr<StrAttr, "\"\"">:$cause,
      DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $collective `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict
  }];
}

def Tandem_RecordOp : Tandem_Op<"record", 8, []> {
  let summary = "a point that a stream passes";
  let description = [{
    ```mlir
    tandem.record 0 on 1
    ```
    Event 0 stands for what stream 1 did up to here. With `per_slot` there are
    as many events as slots, from this one on: that of the running action's slot
    is meant.
  }];
  let arguments = (ins I64Attr:$event, I64Attr:$stream, UnitAttr:$per_slot);
  let assemblyFormat = "$event `on` $stream attr-dict";
}

def Tandem_WaitOp : Tandem_Op<"wait", 8, []> {
  let summary = "hold a stream until another has passed a point";
  let description = [{
    ```mlir
    tandem.wait 0 on 0 for (%x : !tandem.buffer<tensor<2x6xf32>>)
    ```
    For the latest record of the event before it; an event never recorded holds
    nobody. The buffers are those that the other stream was busy with: they
    live until here. `per_slot` as in `tandem.record`.
  }];
  let arguments = (ins I64Attr:$event, I64Attr:$stream, UnitAttr:$per_slot,
                       Variadic<Tandem_BufferType>:$buffers);
  let assemblyFormat = "$event `on` $stream (`for` `(` $buffers^ `:` type($buffers) `)`)? attr-dict";
}

#endif // TANDEM_IR_OPS_STRUCTURE_TD

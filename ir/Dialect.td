//===- Dialect.td - The tandem dialect and its attributes --*- tablegen -*-===//

#ifndef TANDEM_IR_DIALECT_TD
#define TANDEM_IR_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"

def Tandem_Dialect : Dialect {
  let name = "tandem";
  let cppNamespace = "::tandem";
  let summary = "Transformer graphs from global tensors to per-stage programs";
  let description = [{
    One dialect carries a model through four phases. Each operation says in
    which phases it may stand, and a verifier checks that at every boundary.

    1. *Global*: tensors have their full shapes; shardings are attributes.
    2. *Local*: tensors have the shapes that one rank holds; their types carry
       how they lie on the mesh (`#tandem.local`), and collectives are
       operations.
    3. *Staged*: one function for each stage; `send` and `recv` between them.
    4. *Exec*: buffers in an arena, kernel launches, collectives on buffers.

    Attributes of functions: an argument is a parameter
    (`tandem.parameter = #tandem.view<...>`; in a new model it is drawn from
    the normal distribution whose mean and deviation
    `tandem.initial = array<f64: 0.0, 0.02>` gives), an input
    (`tandem.input = "input_ids"`) or a state (`tandem.state = "cache.0.key"`
    with `tandem.aliases = N`, the result that replaces it); a result is an
    output (`tandem.output = "logits"`) or the new value of a state.
    Every operation inside carries `tandem.layer`: -1 the embedding, 0 to
    L - 1 the layers, L the head.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    /// Names of the discardable attributes.
    static constexpr llvm::StringLiteral kLayer = "tandem.layer";
    static constexpr llvm::StringLiteral kStage = "tandem.stage";
    static constexpr llvm::StringLiteral kBackward = "tandem.backward";
    static constexpr llvm::StringLiteral kRecomputed = "tandem.recomputed";
    static constexpr llvm::StringLiteral kAction = "tandem.action";
    static constexpr llvm::StringLiteral kActions = "tandem.actions";
    static constexpr llvm::StringLiteral kPools = "tandem.pools";
    static constexpr llvm::StringLiteral kSchedule = "tandem.schedule";
    static constexpr llvm::StringLiteral kSlots = "tandem.slots";
    static constexpr llvm::StringLiteral kScheduleName =
        "tandem.schedule_name";
    static constexpr llvm::StringLiteral kScheduleText =
        "tandem.schedule_text";
    static constexpr llvm::StringLiteral kVirtualStages =
        "tandem.virtual_stages";
    static constexpr llvm::StringLiteral kSharding = "tandem.sharding";
    static constexpr llvm::StringLiteral kShardings = "tandem.shardings";
    static constexpr llvm::StringLiteral kChoice = "tandem.choice";
    static constexpr llvm::StringLiteral kParameter = "tandem.parameter";
    static constexpr llvm::StringLiteral kInitial = "tandem.initial";
    static constexpr llvm::StringLiteral kInput = "tandem.input";
    static constexpr llvm::StringLiteral kOutput = "tandem.output";
    static constexpr llvm::StringLiteral kState = "tandem.state";
    static constexpr llvm::StringLiteral kAliases = "tandem.aliases";
    static constexpr llvm::StringLiteral kGradient = "tandem.gradient";
    static constexpr llvm::StringLiteral kMoment = "tandem.moment";
    static constexpr llvm::StringLiteral kDifferentiate =
        "tandem.differentiate";
    static constexpr llvm::StringLiteral kOptimizer = "tandem.optimizer";
  }];
}

class Tandem_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tandem_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Meshes and shardings
//===----------------------------------------------------------------------===//

def Tandem_AxisAttr : Tandem_Attr<"Axis", "axis"> {
  let summary = "one named axis of a mesh with its size";
  let parameters = (ins StringRefParameter<"the axis's name">:$name,
                        "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def Tandem_MeshAttr : Tandem_Attr<"Mesh", "mesh"> {
  let summary = "named axes, major to minor";
  let description = [{
    `<["pp"=2, "tp"=4]>`: 8 ranks; a rank's number is its row-major index, so
    ranks that differ in the last axis only are neighbours.

    Constraints:
    1. axis names are unique;
    2. sizes are at least 1.
  }];
  let parameters = (ins ArrayRefParameter<"::tandem::AxisAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The mesh as a plain value.
    ::tandem::Mesh getValue() const;
    static MeshAttr get(::mlir::MLIRContext *context,
                        const ::tandem::Mesh &mesh);
  }];
}

def Tandem_AxisRefAttr : Tandem_Attr<"AxisRef", "axis_ref"> {
  let summary = "an axis of a mesh, or a part of one";
  let description = [{
    `"tp"` is the whole axis, `"tp":(2)2` the part of size 2 behind 2 major
    positions. `size` 0 stands for the whole axis.
  }];
  let parameters = (ins StringRefParameter<"the axis's name">:$name,
                        "int64_t":$preSize, "int64_t":$size);
  let hasCustomAssemblyFormat = 1;
}

def Tandem_AxesAttr : Tandem_Attr<"Axes", "axes"> {
  let summary = "the axes over which a collective runs, major to minor";
  let parameters = (ins OptionalArrayRefParameter<"::tandem::AxisRefAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::tandem::AxisList getValue(const ::tandem::Mesh &mesh) const;
    static AxesAttr get(::mlir::MLIRContext *context,
                        const ::tandem::AxisList &axes,
                        const ::tandem::Mesh &mesh);
  }];
}

def Tandem_DimShardingAttr : Tandem_Attr<"DimSharding", "dim_sharding"> {
  let summary = "the axes that split one dimension";
  let description = [{
    `{"x", "y"}` is closed, `{"x", ?}` open: propagation may add axes behind.
    `p1` behind it is a user priority; 0 is the strongest and not printed.
  }];
  let parameters = (ins ArrayRefParameter<"::tandem::AxisRefAttr">:$axes,
                        "bool":$open, "int32_t":$priority);
  let hasCustomAssemblyFormat = 1;
}

def Tandem_ShardingAttr : Tandem_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor lies on a mesh";
  let description = [{
    ```mlir
    #tandem.sharding<@mesh, [{"dp"}, {}, {"tp", ?} ]>
    #tandem.sharding<@mesh, [{"tp":(1)2}p1, {} ], replicated={"dp"}, unreduced={"tp":(2)2}>
    ```
    See `runtime/mesh/Sharding.h` for what the parts mean.

    Constraints:
    1. `@mesh` names a `tandem.mesh`;
    2. there are as many dimensions as the tensor has;
    3. every axis and part exists in the mesh;
    4. no position of an axis is used twice.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
      ArrayRefParameter<"::tandem::DimShardingAttr">:$dims,
      OptionalArrayRefParameter<"::tandem::AxisRefAttr">:$replicated,
      OptionalArrayRefParameter<"::tandem::AxisRefAttr">:$unreduced);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The sharding as a plain value; whole axes get their size from `mesh`.
    ::tandem::Sharding getValue(const ::tandem::Mesh &mesh) const;
    static ShardingAttr get(::mlir::FlatSymbolRefAttr meshName,
                            const ::tandem::Sharding &sharding,
                            const ::tandem::Mesh &mesh);
    /// Constraints 1 to 4, at `op`.
    ::mlir::LogicalResult verifyFor(::mlir::Operation *op,
                                    ::mlir::Type type,
                                    ::llvm::StringRef what) const;
  }];
}

def Tandem_LocalAttr : Tandem_Attr<"Local", "local"> {
  let summary = "type encoding: the global shape and sharding of a local tensor";
  let description = [{
    `tensor<4x24xf32, #tandem.local<[8, 24], @mesh, [{"tp"}, {} ]>>` is what one
    rank holds of a tensor of 8x24. The local shape is the *capacity*, the same
    on all ranks; which lanes of it mean something follows from the rank's
    coordinates (`extentOf` in `runtime/mesh/Sharding.h`). `max` or `min`
    behind the sharding tells how unreduced terms combine where that is not
    their sum.

    An operation on local tensors means: what it means on the global tensors,
    for the lanes that the rank holds. Lanes beyond the valid extent hold
    anything and are never read into a valid result. A reduction over a split
    dimension gives a result that is unreduced over the dimension's axes.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$globalShape,
                        "::tandem::ShardingAttr":$sharding,
                        "::tandem::ReductionKind":$reduction);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Views of stored tensors
//===----------------------------------------------------------------------===//

def Tandem_ViewStepAttr : Tandem_Attr<"ViewStep", "view_step"> {
  let summary = "one step from a stored tensor to a parameter";
  let parameters = (ins StringRefParameter<"the step's name">:$step,
                        ArrayRefParameter<"int64_t">:$arguments);
  let hasCustomAssemblyFormat = 1;
}

def Tandem_ViewAttr : Tandem_Attr<"View", "view"> {
  let summary = "a parameter's or activation's view of what is stored or named";
  let description = [{
    ```mlir
    #tandem.view<"h.0.mlp.c_fc.weight">
    #tandem.view<"h.0.attn.c_attn.weight"[48, 144], slice(1, 48, 96), heads(1, 4, 1, 12), transpose(1, 2, 3, 0)>
    #tandem.view<"blk.0.attn_k.weight"[192, 576] Q4_1, kv_heads(0, 3, 3, 64)>
    ```
    The stored tensor's key, its shape (that of the parameter when left out),
    its stored type (the parameter's when left out), and steps that are taken
    in order; none of them copies:

    * `slice(dim, begin, end)`: a part of a dimension;
    * `split(dim, a, b, ...)`: one dimension becomes several, major first;
    * `heads(dim, kv, group, size)`: split a query's heads: kv groups of
      `group` heads of `size`;
    * `kv_heads(dim, kv, group, size)`: split a key's or value's heads into
      kv heads of `size`, of which each serves `group` query heads;
    * `transpose(p0, p1, ...)`: result dimension i is dimension p_i.

    An annotation speaks of the stored tensor's dimensions and is carried
    through the steps: a split dimension's axes go to its first part, heads
    divide axes between kv and group so that the fullest rank holds the
    fewest query plus KV heads.

    Two arguments with one view are one parameter.
  }];
  let parameters = (ins StringRefParameter<"the stored tensor's key">:$key,
      OptionalArrayRefParameter<"int64_t">:$storedShape,
      OptionalParameter<"::mlir::StringAttr">:$storedType,
      OptionalArrayRefParameter<"::tandem::ViewStepAttr">:$steps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The shape after all steps from `storedShape` (or `stored` where the
    /// attribute names none); nothing when a step does not fit.
    ::std::optional<::llvm::SmallVector<int64_t>>
    getShape(::llvm::ArrayRef<int64_t> stored = {}) const;
    /// Where result elements are in the stored row-major order: dimension i
    /// steps by strides[i] from `offset`.
    void getStrides(::llvm::ArrayRef<int64_t> stored, int64_t &offset,
                    ::llvm::SmallVectorImpl<int64_t> &strides) const;
    /// Carries a sharding of the stored tensor to the view's dimensions.
    ::tandem::Sharding carry(const ::tandem::Sharding &sharding,
                             ::llvm::ArrayRef<int64_t> stored) const;
  }];
}

//===----------------------------------------------------------------------===//
// Rules and buffers
//===----------------------------------------------------------------------===//

def Tandem_RuleAttr : Tandem_Attr<"Rule", "rule"> {
  let summary = "a sharding rule as launches carry it to the plan";
  let description = [{
    `#tandem.rule<"(*[i, j], *[k, j]) -> ([i, k]) {i=4, j=8 reduction, k=2}">`;
    a star marks an operand in which the launch is linear. See
    `runtime/mesh/Rule.h`.
  }];
  let parameters = (ins "::tandem::ShardingRule":$rule);
  let hasCustomAssemblyFormat = 1;
}

def Tandem_BufferType : TypeDef<Tandem_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a rank's memory for a local tensor";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

class Tandem_Enum<string name, string summary, list<EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::tandem";
}

def Tandem_UnaryKind : Tandem_Enum<"UnaryKind", "elementwise functions of one operand", [
    I32EnumCase<"Neg", 0, "neg">, I32EnumCase<"Abs", 1, "abs">,
    I32EnumCase<"Exp", 2, "exp">, I32EnumCase<"Log", 3, "log">,
    I32EnumCase<"Sqrt", 4, "sqrt">, I32EnumCase<"Rsqrt", 5, "rsqrt">,
    I32EnumCase<"Tanh", 6, "tanh">, I32EnumCase<"Erf", 7, "erf">,
    I32EnumCase<"Sigmoid", 8, "sigmoid">, I32EnumCase<"Relu", 9, "relu">,
    I32EnumCase<"Sin", 10, "sin">, I32EnumCase<"Cos", 11, "cos">,
    I32EnumCase<"Reciprocal", 12, "reciprocal">,
    I32EnumCase<"Floor", 13, "floor">, I32EnumCase<"Not", 14, "not">]>;
def Tandem_BinaryKind : Tandem_Enum<"BinaryKind", "elementwise functions of two operands", [
    I32EnumCase<"Sub", 0, "sub">, I32EnumCase<"Mul", 1, "mul">,
    I32EnumCase<"Div", 2, "div">, I32EnumCase<"Max", 3, "max">,
    I32EnumCase<"Min", 4, "min">, I32EnumCase<"Pow", 5, "pow">,
    I32EnumCase<"Rem", 6, "rem">, I32EnumCase<"And", 7, "and">,
    I32EnumCase<"Or", 8, "or">]>;
def Tandem_CompareKind : Tandem_Enum<"CompareKind", "comparisons", [
    I32EnumCase<"Eq", 0, "eq">, I32EnumCase<"Ne", 1, "ne">,
    I32EnumCase<"Lt", 2, "lt">, I32EnumCase<"Le", 3, "le">,
    I32EnumCase<"Gt", 4, "gt">, I32EnumCase<"Ge", 5, "ge">]>;
def Tandem_ReduceKind : Tandem_Enum<"ReduceKind", "reductions", [
    I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"Max", 1, "max">,
    I32EnumCase<"Min", 2, "min">]>;
def Tandem_GeluKind : Tandem_Enum<"GeluKind", "forms of gelu", [
    I32EnumCase<"None", 0, "none">, I32EnumCase<"Tanh", 1, "tanh">,
    I32EnumCase<"Quick", 2, "quick">]>;
def Tandem_RopeStyle : Tandem_Enum<"RopeStyle", "which lanes rotate together", [
    I32EnumCase<"HalfSplit", 0, "half_split">,
    I32EnumCase<"Interleaved", 1, "interleaved">]>;

def Tandem_UnaryKindAttr : EnumAttr<Tandem_Dialect, Tandem_UnaryKind, "unary">;
def Tandem_BinaryKindAttr : EnumAttr<Tandem_Dialect, Tandem_BinaryKind, "binary">;
def Tandem_CompareKindAttr : EnumAttr<Tandem_Dialect, Tandem_CompareKind, "compare">;
def Tandem_ReduceKindAttr : EnumAttr<Tandem_Dialect, Tandem_ReduceKind, "reduce">;
def Tandem_GeluKindAttr : EnumAttr<Tandem_Dialect, Tandem_GeluKind, "gelu"> {
  let assemblyFormat = "`<` $value `>`";
}
def Tandem_RopeStyleAttr : EnumAttr<Tandem_Dialect, Tandem_RopeStyle, "rope"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // TANDEM_IR_DIALECT_TD

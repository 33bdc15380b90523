#include "ir/Actions.h"
#include "ir/Buffers.h"
#include "ir/Identity.h"
#include "ir/Layers.h"
#include "ir/LayoutInvariance.h"
#include "ir/ops/MapProgram.h"
#include "passes/exec/FixedSums.h"
#include "passes/exec/Passes.h"
#include "runtime/mesh/Collectives.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_LOWERTOEXEC
#include "passes/exec/Passes.h.inc"

namespace {

BufferType bufferOf(Type tensor) {
  return BufferType::get(tensor.getContext(), cast<RankedTensorType>(tensor));
}

/// The phase-2 operation's name and attributes as `communicate` and the
/// collectives' table have them.
struct CollectiveRow {
  StringRef name;
  CollectiveKind kind;
};

std::optional<CollectiveKind> collectiveKind(Operation *op) {
  static constexpr CollectiveRow rows[] = {
      {AllReduceOp::getOperationName(), CollectiveKind::AllReduce},
      {AllGatherOp::getOperationName(), CollectiveKind::AllGather},
      {ReduceScatterOp::getOperationName(), CollectiveKind::ReduceScatter},
      {AllToAllOp::getOperationName(), CollectiveKind::AllToAll},
      {AllSliceOp::getOperationName(), CollectiveKind::AllSlice},
      {PermuteOp::getOperationName(), CollectiveKind::Permute},
      {BroadcastOp::getOperationName(), CollectiveKind::Broadcast},
      {SendOp::getOperationName(), CollectiveKind::Send},
      {RecvOp::getOperationName(), CollectiveKind::Recv},
  };
  for (const CollectiveRow &row : rows)
    if (op->getName().getStringRef() == row.name)
      return row.kind;
  return std::nullopt;
}

class Lowering {
public:
  Lowering(func::FuncOp function, const Mesh &mesh)
      : function(function), mesh(mesh), builder(function.getContext()),
        actions(function), sums(layoutInvariantPieces(function), mesh) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : llvm::to_vector(body.getArguments())) {
      if (!isTensor(argument.getType()))
        return function.emitOpError()
               << "argument " << argument.getArgNumber() << " is "
               << argument.getType() << ", expected a tensor of static sizes";
      // The tensor argument stays until nothing reads it any more.
      hold(argument,
           body.addArgument(bufferOf(argument.getType()), argument.getLoc()));
    }
    unsigned arguments = body.getNumArguments() / 2;
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (failed(visit(op)))
        return failure();
    finish(body.getTerminator(), arguments);
    ops.append(shorter);
    for (Operation *op : ops)
      op->dropAllReferences();
    for (Operation *op : ops)
      op->erase();
    body.eraseArguments(0, arguments);
    function.setFunctionType(
        FunctionType::get(function.getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
    return success();
  }

private:
  /// A kernel adds a few terms at once: the first ones of a long sum, then
  /// their sum and the next.
  LogicalResult shorten(SumOp sum) {
    constexpr size_t kMostTerms = 7; // inputs of kernel `map`
    while (sum.getInputs().size() > kMostTerms) {
      SmallVector<Value> terms(sum.getInputs());
      auto first = SumOp::create(builder, sum.getLoc(),
                                 ArrayRef<Value>(terms).take_front(kMostTerms));
      copyLayer(sum, first);
      shorter.push_back(first);
      if (failed(launch(first)))
        return failure();
      SmallVector<Value> rest = {first.getResult()};
      llvm::append_range(rest, ArrayRef<Value>(terms).drop_front(kMostTerms));
      sum->setOperands(rest);
    }
    return success();
  }

  LogicalResult visit(Operation *op) {
    builder.setInsertionPoint(op);
    if (auto sum = dyn_cast<SumOp>(op))
      if (failed(shorten(sum)))
        return failure();
    if (std::optional<CollectiveKind> kind = collectiveKind(op))
      return communicate(op, *kind);
    if (auto constant = dyn_cast<ConstantOp>(op))
      return fill(constant);
    if (auto microbatch = dyn_cast<MicrobatchOp>(op))
      return view(microbatch);
    if (auto sum = dyn_cast<AccumulateOp>(op))
      return accumulate(sum);
    if (auto broadcast = dyn_cast<BroadcastInDimOp>(op))
      if (isFolded(broadcast)) {
        holders[rootOf(buffers[broadcast.getInput()])].push_back(broadcast);
        return success();
      }
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      if (movesNothing(reshape)) {
        auto rename =
            RenameOp::create(builder, op->getLoc(), bufferOf(reshape.getType()),
                             buffers[reshape.getInput()]);
        copyLayer(op, rename);
        hold(reshape, rename);
        return success();
      }
    return launch(op);
  }

  //===--------------------------------------------------------------------===//
  // Microbatches
  //===--------------------------------------------------------------------===//

  /// Whether `root` holds the same through all microbatches: an argument, or
  /// what the prologue made.
  bool isOfStep(Value root) const {
    Operation *op = root.getDefiningOp();
    return !op || !actions.isBody(op);
  }

  LogicalResult view(MicrobatchOp op) {
    Value batch = buffers[op.getInput()];
    Type type = bufferOf(op.getType());
    Operation *made;
    if (actions.microbatches() == 1)
      made = RenameOp::create(builder, op.getLoc(), type, batch);
    else
      made = MicrobatchViewOp::create(builder, op.getLoc(), type, batch);
    copyLayer(op, made);
    hold(op, made->getResult(0));
    return success();
  }

  /// Zero in the prologue, then grown in place by each microbatch.
  LogicalResult accumulate(AccumulateOp op) {
    Value term = buffers[op.getInput()];
    std::vector<int64_t> shape = toVector(globalShape(op.getType()));
    if (actions.microbatches() == 1 &&
        bufferOf(op.getType()) == term.getType()) {
      hold(op, term);
      return success();
    }
    Value total;
    if (actions.microbatches() == 1) {
      total = alloc(op.getLoc(), op.getType(), op);
      createLaunch(op, "map", term, total, MapProgram().input(0).numbers(),
                   identityRule(shape), -1);
    } else {
      total = zeros(op, shape);
      ShardingRule rule = identityRule(shape);
      rule.operands.push_back(rule.operands[0]);
      rule.additive = true;
      createLaunch(
          op, "map", {total, term}, total,
          MapProgram().input(0).input(1).apply(map_opcode::Add).numbers(),
          std::move(rule), -1);
    }
    hold(op, total);
    return success();
  }

  Value zeros(AccumulateOp op, const std::vector<int64_t> &shape) {
    OpBuilder::InsertionGuard guard(builder);
    if (lastFill)
      builder.setInsertionPointAfter(lastFill);
    else
      builder.setInsertionPointToStart(&function.getBody().front());
    Value total = alloc(op.getLoc(), op.getType(), op);
    ShardingRule rule = identityRule(shape);
    rule.operands.clear();
    auto fill = createLaunch(op, "fill", {}, total, {numberBits(0)},
                             std::move(rule), -1);
    for (Operation *made : {total.getDefiningOp(), fill.getOperation()}) {
      made->setAttr(TandemDialect::kAction, builder.getI64IntegerAttr(0));
      made->removeAttr(TandemDialect::kBackward);
    }
    lastFill = fill;
    return total;
  }

  void hold(Value tensor, Value buffer) {
    buffers[tensor] = buffer;
    holders[rootOf(buffer)].push_back(tensor);
  }

  /// Whether `op` may write over its operand `index`: nothing reads that
  /// memory later, for another microbatch or beside it, and it belongs to this
  /// run or to a state that changes.
  bool mayOverwrite(Operation *op, unsigned index) {
    Value root = rootOf(buffers[op->getOperand(index)]);
    if (actions.microbatches() > 1 && actions.isBody(op) && isOfStep(root))
      return false;
    if (auto argument = dyn_cast<BlockArgument>(root)) {
      // Buffers follow the tensor arguments that they replace.
      unsigned number = argument.getArgNumber() - function.getNumArguments();
      if (!function.getArgAttr(number, TandemDialect::kInput) &&
          !function.getArgAttr(number, TandemDialect::kAliases))
        return false;
    }
    for (Value tensor : holders[root])
      for (OpOperand &use : tensor.getUses())
        if (use.getOwner() == op ? use.getOperandNumber() != index
                                 : op->isBeforeInBlock(use.getOwner()))
          return false;
    return true;
  }

  static bool isMap(Operation *op) {
    auto kernel = dyn_cast<KernelOpInterface>(op);
    return kernel && kernel.getKernelSpec().kernel == "map";
  }

  /// A broadcast that only elementwise kernels read needs no memory.
  bool isFolded(BroadcastInDimOp op) {
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      return isMap(user) && !isa<BroadcastInDimOp>(user);
    });
  }

  /// Whether row-major order of the local capacities is the same memory.
  bool movesNothing(ReshapeOp op) {
    TensorType from = tensorTypeOf(op.getInput().getType(), mesh);
    TensorType to = tensorTypeOf(op.getType(), mesh);
    if (from.localElements() != to.localElements())
      return false;
    ShardingRule rule = op.getShardingRule();
    auto alone = [&](const TensorType &type, const FactorMapping &mapping,
                     const FactorMapping &other) {
      for (size_t d = 0; d < type.shape.size(); ++d)
        if (isPadded(type.shape[d], type.sharding.dims[d].axes) &&
            (mapping.dims[d].size() != 1 ||
             llvm::find(other.dims, mapping.dims[d]) == other.dims.end()))
          return false;
      return true;
    };
    return alone(from, rule.operands[0], rule.results[0]) &&
           alone(to, rule.results[0], rule.operands[0]);
  }

  Value alloc(Location loc, Type tensor, Operation *source) {
    auto op = AllocOp::create(builder, loc, bufferOf(tensor), IntegerAttr(),
                              IntegerAttr());
    copyLayer(source, op);
    return op;
  }

  /// A splat is filled, other values travel as the launch's numbers.
  LogicalResult fill(ConstantOp op) {
    constexpr int64_t kMostNumbers = 65535; // of one instruction
    auto value = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!value || (!value.isSplat() && value.getNumElements() > kMostNumbers))
      return op.emitOpError() << "has " << op.getValue().getNumElements()
                              << " different values, expected a splat or at "
                                 "most "
                              << kMostNumbers << "; make it a parameter";
    std::vector<int64_t> numbers;
    if (value.isSplat()) {
      numbers.push_back(firstNumber(value));
    } else if (isa<FloatType>(value.getElementType())) {
      for (const APFloat &number : value.getValues<APFloat>())
        numbers.push_back(doubleBits(number));
    } else {
      for (const APInt &number : value.getValues<APInt>())
        numbers.push_back(doubleBits(number));
    }
    Value buffer = alloc(op.getLoc(), op.getType(), op);
    createLaunch(op, value.isSplat() ? "fill" : "constant", {}, buffer, numbers,
                 cast<ShardingRuleOpInterface>(*op).getShardingRule(), -1);
    hold(op, buffer);
    return success();
  }

  static int64_t doubleBits(APFloat number) {
    bool loses;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return numberBits(number.convertToDouble());
  }
  static int64_t doubleBits(const APInt &number) {
    // An i1 is 0 or 1, not -1.
    return numberBits(number.getBitWidth() == 1
                          ? static_cast<double>(number.getZExtValue())
                          : static_cast<double>(number.getSExtValue()));
  }
  static int64_t firstNumber(DenseElementsAttr value) {
    if (isa<FloatType>(value.getElementType()))
      return doubleBits(value.getSplatValue<APFloat>());
    return doubleBits(value.getSplatValue<APInt>());
  }

  LaunchOp createLaunch(Operation *op, StringRef kernel, ValueRange inputs,
                        ValueRange outputs, ArrayRef<int64_t> numbers,
                        ShardingRule rule, int inPlace) {
    auto launch = LaunchOp::create(
        builder, op->getLoc(), builder.getStringAttr(kernel), inputs, outputs,
        ValueRange(), builder.getDenseI64ArrayAttr(numbers),
        RuleAttr::get(builder.getContext(), std::move(rule)),
        inPlace < 0 ? IntegerAttr() : builder.getI64IntegerAttr(inPlace));
    copyLayer(op, launch);
    if (atEnd && !actions.empty())
      launch->setAttr(TandemDialect::kAction,
                      builder.getI64IntegerAttr(actions.size() - 1));
    return launch;
  }

  LogicalResult launch(Operation *op) {
    auto kernelOp = dyn_cast<KernelOpInterface>(op);
    auto ruleOp = dyn_cast<ShardingRuleOpInterface>(op);
    if (!kernelOp || !ruleOp)
      return op->emitOpError("has no kernel");
    KernelSpec spec = kernelOp.getKernelSpec();
    ShardingRule rule = ruleOp.getShardingRule();
    SmallVector<Value> inputs;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto broadcast = operand.getDefiningOp<BroadcastInDimOp>();
      if (broadcast && !buffers.count(operand)) {
        FactorMapping &mapping = rule.operands[i];
        FactorMapping folded;
        folded.linear = mapping.linear;
        for (int64_t dim : broadcast.getDims())
          folded.dims.push_back(mapping.dims[dim]);
        mapping = std::move(folded);
        operand = broadcast.getInput();
        // Its lanes are not the result's, even where they are as many.
        if (static_cast<int>(i) == spec.inPlaceOperand)
          spec.inPlaceOperand = -1;
      }
      inputs.push_back(buffers[operand]);
    }
    for (int i = 0; i < spec.sharedResults; ++i) {
      if (mayOverwrite(op, i))
        continue;
      Value &shared = inputs[i];
      Value own = alloc(op->getLoc(), op->getResult(i).getType(), op);
      copy(op, shared, own);
      shared = own;
    }
    SmallVector<Value> outputs;
    unsigned results = op->getNumResults();
    for (int left = spec.optionalResults;
         left > 0 && op->getResult(results - 1).use_empty(); --left) {
      --results;
      rule.results.pop_back();
    }
    for (OpResult result : op->getResults().take_front(results)) {
      int number = static_cast<int>(result.getResultNumber());
      Value buffer = number < spec.sharedResults
                         ? inputs[number]
                         : alloc(op->getLoc(), result.getType(), op);
      outputs.push_back(buffer);
      hold(result, buffer);
    }
    if (failed(sums.cut(op, spec, rule, inputs, outputs)))
      return failure();
    createLaunch(op, spec.kernel, inputs, outputs, spec.numbers,
                 std::move(rule),
                 spec.sharedResults ? -1 : spec.inPlaceOperand);
    return success();
  }

  LogicalResult communicate(Operation *op, CollectiveKind kind) {
    if (failed(sums.check(op)))
      return failure();
    SmallVector<Value> inputs, outputs, workspace;
    Collective collective;
    collective.kind = kind;
    AxesAttr axes = op->getAttrOfType<AxesAttr>("axes");
    auto number = [&](StringRef name) {
      auto attr = op->getAttrOfType<IntegerAttr>(name);
      return attr ? attr.getInt() : 0;
    };
    collective.dim = number(op->hasAttr("peer") ? "lane" : "dim");
    collective.fromDim = number("from_dim");
    if (axes)
      collective.axes = axes.getValue(mesh);
    for (Value operand : op->getOperands())
      inputs.push_back(buffers[operand]);
    for (Value result : op->getResults()) {
      // A broadcast is in place: its operand's buffer is filled.
      Value buffer = kind == CollectiveKind::Broadcast
                         ? inputs[0]
                         : alloc(op->getLoc(), result.getType(), op);
      outputs.push_back(buffer);
      hold(result, buffer);
    }
    if (!inputs.empty() && !outputs.empty()) {
      TensorType from = tensorTypeOf(op->getOperand(0).getType(), mesh);
      TensorType to = tensorTypeOf(op->getResult(0).getType(), mesh);
      collective.reduction = from.reduction;
      if (int64_t bytes = workspaceBytes(collective, from, to)) {
        auto type = RankedTensorType::get({bytes}, builder.getI8Type());
        workspace.push_back(alloc(op->getLoc(), type, op));
      }
    }
    int64_t target = op->hasAttr("peer") ? number("peer") : number("root");
    auto cause = op->getAttrOfType<StringAttr>("cause");
    auto made = CommunicateOp::create(
        builder, op->getLoc(), builder.getStringAttr(name(kind)), inputs,
        outputs, workspace, axes, builder.getI64IntegerAttr(collective.dim),
        builder.getI64IntegerAttr(collective.fromDim),
        builder.getI64IntegerAttr(target),
        cause ? cause : builder.getStringAttr("stage boundary"));
    copyLayer(op, made);
    return success();
  }

  /// Returns buffers; a state's new value that was computed elsewhere is
  /// copied to its place, behind copies of what else is returned from there.
  void finish(Operation *terminator, unsigned arguments) {
    builder.setInsertionPoint(terminator);
    atEnd = true;
    SmallVector<Operation *> sources;
    for (OpOperand &operand : terminator->getOpOperands()) {
      sources.push_back(sourceOf(operand.get(), terminator));
      operand.set(buffers[operand.get()]);
    }
    SmallVector<std::pair<unsigned, Value>> changed; // a result, its state
    DenseSet<Value> states;
    for (unsigned i = 0; i < arguments; ++i) {
      auto aliases =
          function.getArgAttrOfType<IntegerAttr>(i, TandemDialect::kAliases);
      if (!aliases)
        continue;
      Value state = buffers[function.getArgument(i)];
      Value value = terminator->getOperand(aliases.getInt());
      if (value == state || takePlace(value, state))
        continue;
      changed.push_back({aliases.getInt(), state});
      states.insert(state);
    }
    for (OpOperand &operand : terminator->getOpOperands())
      if (states.contains(rootOf(operand.get()))) {
        Operation *source = sources[operand.getOperandNumber()];
        Value own = alloc(source->getLoc(), tensorOf(operand.get()), source);
        copy(source, operand.get(), own);
        operand.set(own);
      }
    for (auto [index, state] : changed) {
      copy(sources[index], terminator->getOperand(index), state);
      terminator->setOperand(index, state);
    }
  }

  /// Makes what computes a state's new value write it into the state's place,
  /// where nothing reads the old value from there on.
  bool takePlace(Value value, Value state) {
    auto made = value.getDefiningOp<AllocOp>();
    if (!made || made.getType() != state.getType())
      return false;
    Operation *first = nullptr;
    for (Operation *user : value.getUsers()) {
      if (isa<RenameOp>(user))
        return false;
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
    bool repeats = actions.microbatches() > 1 && actions.isBody(first);
    if (repeats || isReadFrom(state, first) ||
        llvm::count(function.getBody().front().getTerminator()->getOperands(),
                    value) > 1)
      return false;
    value.replaceAllUsesWith(state);
    made.erase();
    return true;
  }

  /// Whether `buffer` is read behind `first`, or by it in another way than lane
  /// by lane in place.
  static bool isReadFrom(Value buffer, Operation *first) {
    for (OpOperand &use : buffer.getUses()) {
      Operation *user = use.getOwner();
      auto launch = dyn_cast<LaunchOp>(user);
      bool inPlace = launch && launch.getInPlace() == use.getOperandNumber();
      if (user == first ? !inPlace : first->isBeforeInBlock(user))
        return true;
      if (isa<RenameOp>(user) && isReadFrom(user->getResult(0), first))
        return true;
    }
    return false;
  }

  /// The operation whose layer a copy of a returned tensor has.
  static Operation *sourceOf(Value tensor, Operation *terminator) {
    Operation *op = tensor.getDefiningOp();
    for (op = op ? op : terminator->getPrevNode(); op; op = op->getPrevNode())
      if (layerOf(op))
        return op;
    return terminator;
  }

  static RankedTensorType tensorOf(Value buffer) {
    return cast<BufferType>(buffer.getType()).getTensor();
  }

  void copy(Operation *op, Value from, Value to) {
    std::vector<int64_t> shape = toVector(globalShape(tensorOf(to)));
    createLaunch(op, "map", from, to, {0, 0}, identityRule(shape), -1);
  }

  func::FuncOp function;
  const Mesh &mesh;
  OpBuilder builder;
  Actions actions;
  FixedSums sums;
  Operation *lastFill = nullptr; ///< Of the sums over microbatches.
  bool atEnd = false; ///< Whether launches belong to the last action.
  DenseMap<Value, Value> buffers;   ///< By tensor.
  SmallVector<Operation *> shorter; ///< Parts of long sums.
  /// By buffer: the tensors that were in it at any time.
  DenseMap<Value, SmallVector<Value>> holders;
};

struct LowerToExecPass : impl::LowerToExecBase<LowerToExecPass> {
  void runOnOperation() override {
    Mesh mesh = meshOf(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(Lowering(function, mesh).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

#include "ir/Layers.h"
#include "ir/Microbatches.h"
#include "passes/pipeline/ChosenSchedule.h"
#include "passes/pipeline/Passes.h"
#include "passes/pipeline/RecomputePolicy.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_RECOMPUTE
#include "passes/pipeline/Passes.h.inc"

namespace {

constexpr StringLiteral kPolicy = "tandem.recompute";

bool isBackward(Operation *op) { return op->hasAttr(TandemDialect::kBackward); }

bool isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, AllSliceOp,
             PermuteOp>(op);
}

/// Moves collectives that bring values of the forward pass to where the
/// backward pass reads them in front of their first reader.
void sinkForBackward(Block &body) {
  llvm::SetVector<Operation *> sunk;
  for (Operation &op : body)
    if (isBackward(&op) && isCollective(&op)) {
      Operation *source = op.getOperand(0).getDefiningOp();
      if (!source || !isBackward(source) || sunk.contains(source))
        sunk.insert(&op);
    }
  for (Operation *op : llvm::reverse(sunk)) {
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
    if (first)
      op->moveBefore(first);
  }
}

/// Clones operations in front of those that read their results.
class Cloner {
public:
  using IsKept = function_ref<bool(Value)>;

  explicit Cloner(MLIRContext *context) : builder(context) {}

  /// Gives `reader` clones of what is not kept; `made` holds those so far.
  void read(Operation *reader, IsKept isKept, DenseMap<Value, Value> &made) {
    for (OpOperand &operand : reader->getOpOperands())
      operand.set(clone(operand.get(), reader, isKept, made));
  }

private:
  /// `value`, or a clone of what makes it, and of what that reads in turn, in
  /// front of `reader` and with its layer, stage and mark of backward.
  Value clone(Value value, Operation *reader, IsKept isKept,
              DenseMap<Value, Value> &made) {
    if (isKept(value))
      return value;
    if (Value found = made.lookup(value))
      return found;
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, clone(operand, reader, isKept, made));
    builder.setInsertionPoint(reader);
    Operation *copy = builder.clone(*op, mapping);
    copyLayerAndStage(reader, copy);
    copy->setAttr(TandemDialect::kRecomputed, builder.getUnitAttr());
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      made[from] = to;
    return made.lookup(value);
  }

  OpBuilder builder;
};

/// Erases what nothing reads any more.
void eraseUnused(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// One function of training.
class Recomputer {
public:
  /// `turns`: whether the backward pass of each microbatch follows its forward
  /// pass at once in the head.
  Recomputer(func::FuncOp function, const RecomputePolicy &policy,
             int64_t headLayer, bool turns)
      : function(function), body(function.getBody().front()), policy(policy),
        headLayer(headLayer), turns(turns), parts(function),
        cloner(function.getContext()) {
    for (Operation &op : body)
      hasBody |= isa<MicrobatchOp>(op);
  }

  void run() {
    sinkForBackward(body);
    findGathered();
    recompute();
    sinkGathered();
    eraseUnused(body);
  }

private:
  /// Whether `op` is of the forward pass of a microbatch.
  bool isForward(Operation *op) const {
    return !isBackward(op) && (!hasBody || parts.of(op) == StepPart::Body) &&
           !isa<MicrobatchOp, AccumulateOp>(op) && op->getNumOperands() > 0;
  }

  //===--------------------------------------------------------------------===//
  // Values of the forward pass
  //===--------------------------------------------------------------------===//

  /// Makes again what the backward pass reads and the policy does not keep.
  void recompute() {
    DenseMap<Value, Value> made;
    for (Operation &op : llvm::make_early_inc_range(body))
      if (isBackward(&op) && parts.of(&op) != StepPart::Epilogue)
        cloner.read(&op, [&](Value value) { return keeps(value); }, made);
  }

  /// Of the embedding and the head nothing is gained: their backward passes
  /// read ids, or follow their forward passes.
  bool keeps(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || !isForward(op) || gathered.contains(value))
      return true;
    int64_t layer = layerOf(op).value_or(-1);
    bool covered =
        policy.coversLayer(layer) || (policy.attention && isa<AttentionOp>(op));
    if (!covered || layer < 0 || layer >= headLayer)
      return true;
    return !isa<AllGatherOp>(op) && leavesLayer(value, layer);
  }

  /// Whether another layer reads `value`, gathered or not: what is gathered
  /// carries the layer of its source.
  bool leavesLayer(Value value, int64_t layer) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return isa<AllGatherOp>(user) ? leavesLayer(user->getResult(0), layer)
                                    : layerOf(user) != layer;
    });
  }

  //===--------------------------------------------------------------------===//
  // Gathered parameters
  //===--------------------------------------------------------------------===//

  /// Gathered parameters, and what is made of these and other parameters
  /// alone before the microbatches.
  void findGathered() {
    DenseSet<Value> ofParameters;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(),
                              TandemDialect::kParameter))
        ofParameters.insert(argument);
    for (Operation &op : body.without_terminator()) {
      if (op.getNumOperands() == 0 || !isPure(&op) || isa<AccumulateOp>(op) ||
          !llvm::all_of(op.getOperands(),
                        [&](Value v) { return ofParameters.contains(v); }))
        continue;
      ofParameters.insert(op.result_begin(), op.result_end());
      if (isa<AllGatherOp>(op) || llvm::any_of(op.getOperands(), [&](Value v) {
            return gathered.contains(v);
          }))
        gathered.insert(op.result_begin(), op.result_end());
    }
  }

  /// Gathers a parameter in front of its first reader in each layer, forward
  /// and backward apart, so that it is held for no longer; where backward
  /// follows at once, for both.
  void sinkGathered() {
    if (gathered.empty())
      return;
    std::map<std::pair<int64_t, bool>, DenseMap<Value, Value>> ofLayer;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      bool isGathered =
          op.getNumResults() > 0 && gathered.contains(op.getResult(0));
      bool ofBody = op.hasAttr(TandemDialect::kRecomputed) || !hasBody ||
                    parts.of(&op) == StepPart::Body;
      if (isGathered || !ofBody || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      int64_t layer = layerOf(&op).value_or(-1);
      cloner.read(
          &op, [&](Value value) { return !gathered.contains(value); },
          ofLayer[{layer, isBackward(&op) && !(turns && layer == headLayer)}]);
    }
  }

  func::FuncOp function;
  Block &body;
  const RecomputePolicy &policy;
  int64_t headLayer;
  bool turns;
  StepParts parts;
  Cloner cloner;
  bool hasBody = false;
  DenseSet<Value> gathered;
};

/// The layer of the head: the last of the module; 0 where there are none.
int64_t headLayerOf(ModuleOp module) {
  int64_t head = 0;
  module.walk(
      [&](Operation *op) { head = std::max(head, layerOf(op).value_or(0)); });
  return head;
}

bool isOfTraining(func::FuncOp function) {
  return !function.isExternal() &&
         llvm::any_of(function.getBody().front(), [](Operation &op) {
           return isBackward(&op) || isa<MicrobatchOp>(op);
         });
}

/// Whether the last stage goes from each microbatch's forward action to its
/// backward action.
bool turnsAtOnce(const PipelineSchedule &pipeline) {
  auto last = static_cast<int64_t>(pipeline.problem.coordinateOf.size()) - 1;
  const ActionList &actions =
      pipeline.schedule.actions[pipeline.problem.coordinateOf[last]];
  for (size_t i = 0; i < actions.size(); ++i)
    if (actions[i].kind == ActionKind::Forward && actions[i].stage == last &&
        (i + 1 == actions.size() || actions[i + 1].stage != last ||
         actions[i + 1].kind == ActionKind::Forward))
      return false;
  return true;
}

struct RecomputePass : impl::RecomputeBase<RecomputePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t head = headLayerOf(module);
    FailureOr<RecomputePolicy> policy = policyOf(module, head);
    if (failed(policy))
      return signalPassFailure();
    Result<ChosenSchedule> chosen = ChosenSchedule::of(module);
    if (!chosen.ok()) {
      module.emitError(chosen.status().message());
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (isOfTraining(function))
        Recomputer(function, *policy, head, turns(function, *chosen)).run();
    module->removeAttr(kPolicy);
  }

  /// A schedule of another number of microbatches is refused behind this pass.
  static bool turns(func::FuncOp function, const ChosenSchedule &chosen) {
    Result<PipelineSchedule> pipeline =
        chosen.of(StepParts(function).microbatches());
    return pipeline.ok() && turnsAtOnce(*pipeline);
  }

  FailureOr<RecomputePolicy> policyOf(ModuleOp module, int64_t head) {
    auto text = module->getAttrOfType<StringAttr>(kPolicy);
    if (!text)
      return RecomputePolicy();
    Result<RecomputePolicy> policy = RecomputePolicy::parse(text.str());
    if (!policy.ok())
      return module.emitError(policy.status().message());
    if (!policy->layers.empty() && *policy->layers.rbegin() >= head)
      return module.emitError()
             << "recompute names layer " << *policy->layers.rbegin()
             << ", expected layers below " << head;
    return *policy;
  }
};

} // namespace
} // namespace tandem

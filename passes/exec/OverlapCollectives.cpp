//===- OverlapCollectives.cpp - Collectives beside what needs no result ---===//

#include "passes/exec/OverlapCollectives.h"

#include "ir/Actions.h"
#include "ir/Buffers.h"
#include "ir/Layers.h"

using namespace mlir;

namespace tandem {
namespace {

constexpr int64_t kCompute = 0;

int64_t bytesOf(Value buffer) {
  auto tensor = cast<BufferType>(buffer.getType()).getTensor();
  return storageBytes(dtypeOf(tensor.getElementType()),
                      tensor.getNumElements());
}

/// The memory behind renames and slices of a microbatch.
Value memoryOf(Value buffer) {
  Value root = rootOf(buffer);
  if (auto view = root.getDefiningOp<MicrobatchViewOp>())
    return memoryOf(view.getInput());
  return root;
}

/// What works on buffers, rather than names them.
bool isInstruction(Operation *op) {
  return isa<LaunchOp, CommunicateOp, RecordOp, WaitOp>(op);
}

bool touches(Operation *op, Value memory) {
  return isInstruction(op) && llvm::any_of(op->getOperands(), [&](Value use) {
           return memoryOf(use) == memory;
         });
}

ValueRange outputsOf(Operation *op) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return launch.getOutputs();
  if (auto communicate = dyn_cast<CommunicateOp>(op))
    return communicate.getOutputs();
  return {};
}

bool writes(Operation *op, Value memory) {
  return llvm::any_of(outputsOf(op),
                      [&](Value output) { return memoryOf(output) == memory; });
}

class Overlap {
public:
  Overlap(func::FuncOp function, int64_t stream)
      : body(function.getBody().front()), actions(function),
        builder(function.getContext()), stream(stream) {}

  int64_t run() {
    if (actions.microbatches() > 1)
      for (CommunicateOp op : collectives())
        takeEarlier(op);
    for (CommunicateOp op : collectives())
      spread(op);
    for (CommunicateOp op : collectives())
      overlap(op);
    return nextEvent;
  }

private:
  /// Those among the ranks of one coordinate, which run the same operations;
  /// what meets other coordinates stays in the order that they agree on.
  SmallVector<CommunicateOp> collectives() {
    SmallVector<CommunicateOp> found;
    for (auto op : body.getOps<CommunicateOp>())
      if (op.getAxes() && llvm::none_of(op.getAxes()->getAxes(), isStages))
        found.push_back(op);
    return found;
  }
  static bool isStages(AxisRefAttr axis) { return axis.getName() == "pp"; }

  //===--- Sums over microbatches -----------------------------------------===//

  /// Moves a reduction of the epilogue to where the last microbatch completes
  /// what it reads. Its result then lives through the body: so only what makes
  /// much less of it.
  void takeEarlier(CommunicateOp op) {
    if (actions.isBody(op) || op.getInputs().size() != 1 ||
        2 * bytesOf(op.getOutputs()[0]) > bytesOf(op.getInputs()[0]))
      return;
    Operation *writer = lastWriter(op, memoryOf(op.getInputs()[0]));
    if (!writer)
      return;
    moveBefore(op, writer->getNextNode());
    op->setAttr(TandemDialect::kAction,
                builder.getI64IntegerAttr(Actions::of(writer)));
    for (ValueRange own : {op.getOutputs(), op.getWorkspace()})
      for (Value buffer : own)
        if (Operation *alloc = rootOf(buffer).getDefiningOp())
          alloc->setAttr(TandemDialect::kAction,
                         op->getAttr(TandemDialect::kAction));
    Actions::setLast(op);
  }

  /// The last of those that write to `memory` in front of `op` behind the
  /// prologue, where all are in one action.
  Operation *lastWriter(Operation *op, Value memory) {
    Operation *last = nullptr;
    for (Operation *at = previous(op); at; at = previous(at)) {
      if (!writes(at, memory) || Actions::of(at) == 0)
        continue;
      if (!actions.isBody(at) || (last && !sameAction(at, last)))
        return nullptr;
      if (!last)
        last = at;
    }
    return last;
  }

  //===--- Distance -------------------------------------------------------===//

  /// Whether two operations stand in one action and in one layer.
  static bool sameSegment(Operation *a, Operation *b) {
    return Actions::of(a) == Actions::of(b) && layerOf(a) == layerOf(b);
  }
  static bool sameAction(Operation *a, Operation *b) {
    return Actions::of(a) == Actions::of(b);
  }

  /// Moves what can wait for a layer: a gather ahead of the layer before its
  /// own, the use of a reduction behind the layer after its own.
  void spread(CommunicateOp op) {
    if (op.getCollective() == "all_gather")
      hoist(op);
    else if (op.getCollective() == "reduce_scatter" ||
             op.getCollective() == "all_reduce")
      sink(op);
  }

  static Operation *previous(Operation *op) {
    do
      op = op->getPrevNode();
    while (op && !isInstruction(op));
    return op;
  }
  static Operation *next(Operation *op) {
    do
      op = op->getNextNode();
    while (op && !isInstruction(op));
    return op;
  }

  /// Gathers of what is there before the action keep their order.
  void hoist(CommunicateOp op) {
    Value from = memoryOf(op.getInputs()[0]);
    Operation *first = op, *layer = nullptr;
    for (Operation *at = previous(op); at && sameAction(at, op);
         at = previous(at)) {
      if (writes(at, from))
        return;
      if (!layer && !sameSegment(at, op))
        layer = at;
      if ((layer && !sameSegment(at, layer)) || gathers.contains(at))
        break;
      first = at;
    }
    gathers.insert(op);
    if (first != op)
      moveBefore(op, first);
  }

  /// With the allocations and names that it needs.
  void moveBefore(Operation *op, Operation *place) {
    for (Value operand : op->getOperands()) {
      SmallVector<Operation *> needed;
      for (Operation *def = operand.getDefiningOp(); def;
           def = isa<AllocOp>(def) ? nullptr
                                   : def->getOperand(0).getDefiningOp())
        needed.push_back(def);
      for (Operation *def : llvm::reverse(needed))
        if (def == place)
          place = place->getNextNode();
        else if (place->isBeforeInBlock(def))
          def->moveBefore(place);
    }
    op->moveBefore(place);
  }

  void sink(CommunicateOp op) {
    Operation *user = next(op);
    auto launch = dyn_cast_or_null<LaunchOp>(user);
    if (!launch || !sameAction(user, op) ||
        !touches(user, memoryOf(op.getOutputs()[0])))
      return;
    Operation *last = user, *layer = nullptr;
    for (Operation *at = next(user); at && sameAction(at, op); at = next(at)) {
      if (!layer && !sameSegment(at, op))
        layer = at;
      if ((layer && !sameSegment(at, layer)) || conflict(launch, at))
        break;
      last = at;
    }
    if (last != user)
      user->moveAfter(last);
  }

  /// Whether `at` minds coming before `op`.
  template <typename Op> static bool conflict(Op op, Operation *at) {
    return llvm::any_of(
               op.getInputs(),
               [&](Value input) { return writes(at, memoryOf(input)); }) ||
           llvm::any_of(op.getOutputs(), [&](Value output) {
             return touches(at, memoryOf(output));
           });
  }

  //===--- Collectives ----------------------------------------------------===//

  /// Runs a collective beside what does not need it, where that is enough to
  /// hide it.
  void overlap(CommunicateOp op) {
    int64_t work = 0, moved = 0;
    for (Value operand : op->getOperands())
      moved = std::max(moved, bytesOf(operand));
    Operation *end = op->getNextNode(), *layer = nullptr;
    // What only the next action needs is waited for a layer later, so that
    // memory of what waits is another's.
    auto isFar = [&](Operation *at) {
      if (!layer && !sameSegment(at, op))
        layer = at;
      return Actions::isLast(op) && layer && !sameSegment(at, layer);
    };
    for (; !minds(op, end) && !isFar(end); end = end->getNextNode())
      if (isa<LaunchOp>(end))
        for (Value operand : end->getOperands())
          work += bytesOf(operand);
    if (work < moved)
      return;
    if (!followsAtOnce(op)) {
      record(op, op, kCompute, nextEvent);
      wait(op, op, stream, nextEvent++, {});
    }
    op.setStream(stream);
    RecordOp done = record(op->getNextNode(), op, stream, nextEvent);
    WaitOp waited = wait(end, op, kCompute, nextEvent++, op->getOperands());
    dropNeedless(waited);
    pending.push_back({done, waited});
  }

  /// Whether stream 0 does nothing since the collective before.
  bool followsAtOnce(Operation *op) {
    Operation *before = previous(op);
    auto record = dyn_cast_or_null<RecordOp>(before);
    return record && record.getStream() == uint64_t(stream) &&
           sameAction(before, op) &&
           Actions::isLast(before) == Actions::isLast(op);
  }

  /// Earlier collectives are done where `waited` passed.
  void dropNeedless(WaitOp waited) {
    for (size_t i = pending.size(); i-- > 0;) {
      auto [done, earlier] = pending[i];
      if (!sameAction(earlier, waited))
        return;
      if (Actions::isLast(waited) && !Actions::isLast(earlier))
        continue;
      if (waited->isBeforeInBlock(earlier) ||
          earlier->getNextNode() == waited) {
        waited.getBuffersMutable().append(earlier.getBuffers());
        done.erase();
        earlier.erase();
        pending.erase(pending.begin() + i);
      }
    }
  }

  /// Whether `at` is the first that must come behind `op`.
  bool minds(CommunicateOp op, Operation *at) {
    if (at->hasTrait<OpTrait::IsTerminator>() || !sameAction(at, op))
      return true;
    return conflict(op, at);
  }

  //===--- Events ---------------------------------------------------------===//

  RecordOp record(Operation *before, Operation *source, int64_t on,
                  int64_t event) {
    builder.setInsertionPoint(before);
    auto op = RecordOp::create(builder, source->getLoc(),
                               builder.getI64IntegerAttr(event),
                               builder.getI64IntegerAttr(on), {});
    copyLayer(source, op);
    if (Actions::isLast(source))
      Actions::setLast(op);
    return op;
  }

  /// `buffers` are in use until then.
  WaitOp wait(Operation *before, Operation *source, int64_t on, int64_t event,
              ValueRange buffers) {
    builder.setInsertionPoint(before);
    auto op = WaitOp::create(builder, source->getLoc(),
                             builder.getI64IntegerAttr(event),
                             builder.getI64IntegerAttr(on), {}, buffers);
    copyLayer(source, op);
    if (Actions::isLast(source))
      Actions::setLast(op);
    return op;
  }

  Block &body;
  Actions actions;
  OpBuilder builder;
  int64_t stream, nextEvent = 0;
  SmallPtrSet<Operation *, 8> gathers; ///< That may go ahead.
  /// What tells that a collective is done, and who waits for that.
  SmallVector<std::pair<RecordOp, WaitOp>> pending;
};

} // namespace

int64_t overlapCollectives(func::FuncOp function, int64_t stream) {
  return Overlap(function, stream).run();
}

} // namespace tandem

#include "ir/Actions.h"
#include "ir/Buffers.h"
#include "ir/Layers.h"
#include "passes/exec/OverlapCollectives.h"
#include "passes/exec/Passes.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_ASSIGNSTREAMS
#include "passes/exec/Passes.h.inc"

namespace {

/// Puts the sends of one function's body, and collectives that need not be
/// waited for at once, on streams of their own.
class StreamAssignment {
public:
  explicit StreamAssignment(func::FuncOp function)
      : function(function), body(function.getBody().front()), actions(function),
        builder(function.getContext()) {}

  void run() {
    // What a send waits for stands before what makes it wait.
    events = overlapCollectives(function, 1);
    firstStream = events ? 2 : 1;
    if (actions.microbatches() > 1)
      detachSends();
  }

private:
  void detachSends() {
    for (Operation &op : body)
      if (isInstruction(op))
        ops[Actions::of(&op)].push_back(&op);
    for (auto &[action, list] : std::map(ops))
      for (Operation *op : list)
        if (auto send = dyn_cast<CommunicateOp>(op);
            send && send.getCollective() == "send" && actions.isBody(action))
          detach(send, action);
    for (auto &[key, sent] : busy)
      join(key.first, sent);
    joinAll();
  }

  /// Buffers that a stream sends on behalf of an action.
  struct Sent {
    int64_t stream = 0;
    int64_t done = 0; ///< The event behind the last, of the first slot.
    SmallVector<Value> buffers;
  };

  static bool isInstruction(Operation &op) {
    return !isa<AllocOp, RenameOp, MicrobatchViewOp>(op) &&
           !op.hasTrait<OpTrait::IsTerminator>();
  }

  static bool isRecv(Operation *op) {
    auto communicate = dyn_cast<CommunicateOp>(op);
    return communicate && communicate.getCollective() == "recv";
  }

  bool isBackward(int64_t action) const {
    return !actions.nameOf(action).starts_with("forward");
  }

  /// The send waits for stream 0, which goes on.
  void detach(CommunicateOp send, int64_t action) {
    std::pair<int64_t, int64_t> lane(send.getTarget(), send.getDim());
    int64_t stream =
        streams.try_emplace(lane, firstStream + streams.size()).first->second;
    auto [it, added] = busy.try_emplace({action, stream});
    if (added) {
      it->second = {stream, events, {}};
      events += actions.slotsOf(actions.poolOf(action));
    }
    it->second.buffers.push_back(rootOf(send.getInputs()[0]));
    int64_t ready = events++;
    builder.setInsertionPoint(send);
    record(send, ready, 0);
    wait(send, ready, stream);
    send.setStream(stream);
    builder.setInsertionPointAfter(send);
    record(send, it->second.done, stream).setPerSlot(true);
  }

  /// Stream 0 waits for what `action` sent before the bytes are another's: a
  /// microbatch's activations until its backward action, its gradients until
  /// another microbatch may have its slot (the first waits for nobody). Behind
  /// the receive with which that action begins, so that two stages do not wait
  /// for each other there.
  void join(int64_t action, const Sent &sent) {
    int64_t at = joiningAction(action);
    Operation *place = ops[at].front();
    auto recv = std::find_if(ops[at].rbegin(), ops[at].rend(), isRecv);
    if (recv != ops[at].rend()) {
      place = *recv;
      builder.setInsertionPointAfter(place);
    } else {
      builder.setInsertionPoint(place);
    }
    for (Value buffer : sent.buffers)
      if (Operation *alloc = buffer.getDefiningOp<AllocOp>())
        alloc->moveBefore(&body, body.begin());
    wait(place, sent.done, 0, sent.buffers).setPerSlot(true);
    if (at <= action)
      for (int64_t i = 0; i < actions.slotsOf(actions.poolOf(action)); ++i) {
        builder.setInsertionPointToStart(&body);
        setAction(record(place, sent.done + i, sent.stream), 0);
      }
  }

  /// At the end of the body stream 0 waits for all that is sent.
  void joinAll() {
    std::vector<Operation *> &last = ops[actions.size() - 1];
    Operation *end = last.empty() ? body.getTerminator() : last.front();
    builder.setInsertionPoint(end);
    for (auto [lane, stream] : streams) {
      setAction(record(end, events, stream), actions.size() - 1);
      setAction(wait(end, events++, 0), actions.size() - 1);
    }
  }

  void setAction(Operation *op, int64_t action) {
    op->setAttr(TandemDialect::kAction, builder.getI64IntegerAttr(action));
  }

  /// Of activations the next action of their stage; of gradients, and where
  /// there is none, the first of the pool, for another microbatch.
  int64_t joiningAction(int64_t action) const {
    if (!isBackward(action))
      for (int64_t i = action + 1; i < actions.size(); ++i)
        if (isBackward(i) && actions.stageOf(i) == actions.stageOf(action))
          return i;
    for (int64_t i = 0; i < action; ++i)
      if (actions.poolOf(i) == actions.poolOf(action))
        return i;
    return action;
  }

  RecordOp record(Operation *source, int64_t event, int64_t stream) {
    auto op = RecordOp::create(builder, source->getLoc(),
                               builder.getI64IntegerAttr(event),
                               builder.getI64IntegerAttr(stream), {});
    copyLayer(source, op);
    return op;
  }

  WaitOp wait(Operation *source, int64_t event, int64_t stream,
              ValueRange buffers = {}) {
    auto op = WaitOp::create(builder, source->getLoc(),
                             builder.getI64IntegerAttr(event),
                             builder.getI64IntegerAttr(stream), {}, buffers);
    copyLayer(source, op);
    return op;
  }

  func::FuncOp function;
  Block &body;
  Actions actions;
  OpBuilder builder;
  std::map<int64_t, std::vector<Operation *>> ops; ///< By action.
  /// By receiver and lane: what is sent in one lane is received in the order in
  /// which it is sent, and waits for nothing else.
  std::map<std::pair<int64_t, int64_t>, int64_t> streams;
  std::map<std::pair<int64_t, int64_t>, Sent> busy; ///< By action and stream.
  int64_t events = 0, firstStream = 1;
};

struct AssignStreamsPass : impl::AssignStreamsBase<AssignStreamsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        StreamAssignment(function).run();
  }
};

} // namespace
} // namespace tandem

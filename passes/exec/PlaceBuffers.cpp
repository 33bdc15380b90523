#include "ir/Actions.h"
#include "ir/Buffers.h"
#include "ir/Layers.h"
#include "ir/PortAttributes.h"
#include "passes/exec/Passes.h"
#include "passes/strategy/ArenaPlacement.h"

#include <set>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_PLACEBUFFERS
#include "passes/exec/Passes.h.inc"

namespace {

int64_t bytesOf(Value buffer) {
  auto tensor = cast<BufferType>(buffer.getType()).getTensor();
  return storageBytes(dtypeOf(tensor.getElementType()),
                      tensor.getNumElements());
}

/// When a buffer is touched.
struct Life {
  int64_t first = 0, last = 0; ///< Instructions.
  std::set<int64_t> actions;
  bool isBusy = false; ///< Whether another stream works on it.
};

/// Buffers that share an arena, or a part of one.
struct Part {
  ArenaProblem problem;
  SmallVector<Value> owners;
  ArenaSolution solution;

  void add(Value buffer, int64_t first, int64_t last) {
    problem.buffers.push_back({bytesOf(buffer), first, last});
    owners.push_back(buffer);
  }
  Status solve() {
    TANDEM_ASSIGN(solution, tandem::solve(problem));
    return Status();
  }
};

class Placement {
public:
  explicit Placement(func::FuncOp function)
      : function(function), body(function.getBody().front()), actions(function),
        repeats(actions.microbatches() > 1) {}

  LogicalResult run() {
    findUnordered();
    number();
    reuse();
    number();
    sort();
    if (Status status = solve(); !status.ok())
      return function.emitError(status.message());
    write();
    return success();
  }

private:
  /// Buffers of the arena: entry inputs, then allocations.
  SmallVector<Value> buffersInOrder() {
    SmallVector<Value> buffers;
    for (BlockArgument argument : body.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), TandemDialect::kInput))
        buffers.push_back(argument);
    for (Operation &op : body)
      if (auto alloc = dyn_cast<AllocOp>(op))
        buffers.push_back(alloc);
    return buffers;
  }

  static bool isInstruction(Operation &op) {
    return !isa<AllocOp, RenameOp, MicrobatchViewOp>(op);
  }

  /// First and last instruction that touch each buffer, and their actions.
  void number() {
    lives.clear();
    spans.clear();
    int64_t at = 0;
    for (BlockArgument argument : body.getArguments())
      touch(argument, 0, 0);
    for (Operation &op : body) {
      if (!isInstruction(op))
        continue;
      int64_t action = op.hasTrait<OpTrait::IsTerminator>() ? actions.size() - 1
                                                            : Actions::of(&op);
      if (repeats && action > 0 && !bodyFirst)
        bodyFirst = at;
      if (repeats && actions.isBody(action))
        bodyLast = at;
      if (auto [it, added] = spans.try_emplace(action, at, at); !added)
        it->second.second = at;
      for (Value operand : op.getOperands())
        touch(operand, at, action);
      ++at;
    }
    for (Operation &op : body) {
      if (auto alloc = dyn_cast<AllocOp>(op))
        lives.try_emplace(alloc, Life{0, 0, {Actions::of(alloc)}, false});
      if (auto wait = dyn_cast<WaitOp>(op))
        for (Value buffer : wait.getBuffers())
          if (isUsedAgain(wait, rootOf(buffer)))
            keepFor(wait, lives[rootOf(buffer)]);
    }
    for (Value buffer : buffersInOrder())
      if (Life &life = lives[buffer]; life.actions.size() > 1)
        spread(life);
  }

  /// Makes a buffer live through all actions that some microbatch takes in
  /// another order, where one of them touches it.
  void spread(Life &life) {
    for (auto [first, last] : unordered)
      if (llvm::any_of(life.actions,
                       [&, first = first, last = last](int64_t action) {
                         return first <= action && action <= last;
                       })) {
        life.first = std::min(life.first, spans[first].first);
        life.last = std::max(life.last, spans[last].second);
      }
  }

  /// The runs of actions of one pool that not all microbatches take in their
  /// order.
  void findUnordered() {
    std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> taken;
    for (const ScheduleItem &item : actions.schedule())
      if (actions.isBody(item.action))
        taken[{actions.poolOf(item.action), item.microbatch}].push_back(
            item.action);
    for (const auto &[key, list] : taken)
      for (size_t i = 0; i < list.size(); ++i)
        for (size_t j = i + 1; j < list.size(); ++j)
          if (list[j] < list[i])
            merge(list[j], list[i]);
  }

  void merge(int64_t first, int64_t last) {
    for (auto it = unordered.begin(); it != unordered.end();)
      if (it->first <= last && first <= it->second) {
        first = std::min(first, it->first);
        last = std::max(last, it->second);
        it = unordered.erase(it);
      } else {
        ++it;
      }
    unordered.push_back({first, last});
  }

  /// Whether another stream works on `buffer` behind the wait for it: the wait
  /// is for the microbatch before.
  static bool isUsedAgain(WaitOp wait, Value buffer) {
    return wait.getPerSlot() &&
           llvm::any_of(buffer.getUsers(), [&](Operation *user) {
             if (auto rename = dyn_cast<RenameOp>(user))
               return isUsedAgain(wait, rename);
             auto communicate = dyn_cast<CommunicateOp>(user);
             return communicate && communicate.getStream() != 0 &&
                    wait->isBeforeInBlock(user);
           });
  }

  /// What another stream is busy with lives until stream 0 waits for it, or as
  /// long as its slot where that is for another microbatch.
  void keepFor(WaitOp wait, Life &life) {
    life.isBusy = true;
    int64_t last = *life.actions.rbegin();
    if (Actions::of(wait) == last && life.actions.size() > 1)
      return;
    for (auto &[action, span] : spans)
      if (actions.poolOf(action) == actions.poolOf(last)) {
        life.first = std::min(life.first, span.first);
        life.last = std::max(life.last, span.second);
      }
  }

  void touch(Value buffer, int64_t at, int64_t action) {
    Value root = rootOf(buffer);
    if (auto view = root.getDefiningOp<MicrobatchViewOp>())
      root = rootOf(view.getInput());
    auto [it, added] = lives.try_emplace(root, Life{at, at, {}, false});
    it->second.last = at;
    it->second.actions.insert(action);
  }

  //===--------------------------------------------------------------------===//
  // In place
  //===--------------------------------------------------------------------===//

  /// Lets results take over the buffers of operands that die.
  void reuse() {
    int64_t at = 0;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (!isInstruction(op))
        continue;
      if (auto launch = dyn_cast<LaunchOp>(op))
        takeOver(launch, at);
      ++at;
    }
  }

  void takeOver(LaunchOp launch, int64_t at) {
    if (!launch.getInPlace())
      return;
    Value input = launch.getInputs()[*launch.getInPlace()];
    Value root = rootOf(input);
    auto output = launch.getOutputs()[0].getDefiningOp<AllocOp>();
    bool dies = isa_and_nonnull<AllocOp>(root.getDefiningOp()) &&
                lives[root].last == at && !lives[root].isBusy;
    bool again = repeats && actions.isBody(launch) && isOfStep(lives[root]);
    bool once = llvm::count_if(launch.getInputs(), [&](Value other) {
                  return rootOf(other) == root;
                }) == 1;
    if (!output || lives[output].isBusy || !dies || again || !once ||
        bytesOf(input) != bytesOf(output))
      return;
    Value taken = input;
    if (taken.getType() != output.getType()) {
      OpBuilder builder(launch);
      taken =
          RenameOp::create(builder, launch.getLoc(), output.getType(), input);
      copyLayer(launch, taken.getDefiningOp());
    }
    Life &life = lives[root], &more = lives[output];
    life.last = more.last;
    life.actions.insert(more.actions.begin(), more.actions.end());
    output.getResult().replaceAllUsesWith(taken);
    output.erase();
  }

  /// Whether something outside the body touches it too.
  bool isOfStep(const Life &life) const {
    return llvm::any_of(
        life.actions, [&](int64_t action) { return !actions.isBody(action); });
  }

  //===--------------------------------------------------------------------===//
  // Classes of buffers
  //===--------------------------------------------------------------------===//

  /// What one action alone touches is its scratch; what several actions of the
  /// body touch lies in a slot; the rest, and all of them together as one
  /// block while the body runs, lives in the arena of the step.
  void sort() {
    for (Value buffer : buffersInOrder()) {
      const Life &life = lives[buffer];
      bool isArgument = isa<BlockArgument>(buffer);
      if (!repeats) {
        step.add(buffer, life.first, life.last);
      } else if (isArgument || isOfStep(life)) {
        bool inBody = llvm::any_of(life.actions, [&](int64_t action) {
          return actions.isBody(action);
        });
        step.add(buffer,
                 isArgument ? 0
                 : inBody   ? std::min(life.first, *bodyFirst)
                            : life.first,
                 inBody ? std::max(life.last, bodyLast) : life.last);
      } else if (life.actions.size() == 1 && !life.isBusy) {
        scratch[*life.actions.begin()].add(buffer, life.first, life.last);
      } else {
        slots[actions.poolOf(*life.actions.begin())].add(buffer, life.first,
                                                         life.last);
      }
    }
  }

  Status solve() {
    if (!repeats) {
      TANDEM_TRY(step.solve());
      lowerBound = step.solution.lowerBound;
      return Status();
    }
    for (auto &[action, part] : scratch)
      TANDEM_TRY(part.solve());
    for (auto &[pool, part] : slots)
      TANDEM_TRY(part.solve());
    int64_t first = bodyFirst.value_or(0);
    step.problem.buffers.push_back(
        {bodyBytes(&ArenaSolution::peak), first, std::max(first, bodyLast)});
    TANDEM_TRY(step.solve());
    ArenaProblem least = step.problem;
    least.buffers.back().bytes = bodyBytes(&ArenaSolution::lowerBound);
    TANDEM_ASSIGN(ArenaSolution bound, tandem::solve(least));
    lowerBound = bound.lowerBound;
    return Status();
  }

  /// Of all slots and of the action with the most scratch.
  int64_t bodyBytes(int64_t ArenaSolution::*bytes) const {
    int64_t most = 0, all = 0;
    for (const auto &[action, part] : scratch)
      most = std::max(most, part.solution.*bytes);
    for (const auto &[pool, part] : slots)
      all += part.solution.*bytes * actions.slotsOf(pool);
    return all + most;
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  void write() {
    PortAttributes ports(function);
    int64_t base = repeats ? step.solution.offsets.back() : 0;
    SmallVector<int64_t> pools;
    for (int64_t pool = 0; repeats && pool < poolCount(); ++pool) {
      Part &part = slots[pool];
      pools.append({base, part.solution.peak, actions.slotsOf(pool)});
      base += part.solution.peak * actions.slotsOf(pool);
      place(part, 0, ports, pool);
    }
    for (auto &[action, part] : scratch)
      place(part, base, ports);
    place(step, 0, ports);
    ports.write();
    Builder builder(function.getContext());
    if (!pools.empty())
      function->setAttr(TandemDialect::kSlots,
                        builder.getDenseI64ArrayAttr(pools));
    function->setAttr("tandem.arena_peak",
                      builder.getI64IntegerAttr(step.solution.peak));
    function->setAttr("tandem.arena_lower_bound",
                      builder.getI64IntegerAttr(lowerBound));
  }

  int64_t poolCount() const {
    int64_t count = 0;
    for (int64_t action = 0; action < actions.size(); ++action)
      count = std::max(count, actions.poolOf(action) + 1);
    return count;
  }

  void place(const Part &part, int64_t base, PortAttributes &ports,
             int64_t pool = -1) {
    Builder builder(function.getContext());
    for (auto [i, buffer] : llvm::enumerate(part.owners)) {
      auto offset = builder.getI64IntegerAttr(base + part.solution.offsets[i]);
      if (auto argument = dyn_cast<BlockArgument>(buffer)) {
        ports.argument(argument.getArgNumber()).set("tandem.offset", offset);
        continue;
      }
      auto alloc = cast<AllocOp>(buffer.getDefiningOp());
      alloc.setOffsetAttr(offset);
      if (pool >= 0)
        alloc.setPoolAttr(builder.getI64IntegerAttr(pool));
    }
  }

  func::FuncOp function;
  Block &body;
  Actions actions;
  bool repeats; ///< Whether the body runs more than once.
  DenseMap<Value, Life> lives;
  std::vector<std::pair<int64_t, int64_t>> unordered; ///< Runs of actions.
  /// By action: its first and last instruction.
  std::map<int64_t, std::pair<int64_t, int64_t>> spans;
  std::optional<int64_t> bodyFirst; ///< The body's first instruction.
  int64_t bodyLast = 0;
  Part step;
  std::map<int64_t, Part> scratch, slots; ///< By action, by pool.
  int64_t lowerBound = 0;
};

struct PlaceBuffersPass : impl::PlaceBuffersBase<PlaceBuffersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(Placement(function).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

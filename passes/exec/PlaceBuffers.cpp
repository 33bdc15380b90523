#include "ir/Buffers.h"
#include "ir/Layers.h"
#include "ir/PortAttributes.h"
#include "passes/exec/Passes.h"
#include "passes/strategy/ArenaPlacement.h"

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

class Placement {
public:
  explicit Placement(func::FuncOp function)
      : function(function), body(function.getBody().front()) {}

  LogicalResult run() {
    number();
    reuse();
    number();
    ArenaProblem problem;
    SmallVector<Value> owners;
    for (Value buffer : buffersInOrder()) {
      auto [first, last] = lives[buffer];
      problem.buffers.push_back({bytesOf(buffer), first, last});
      owners.push_back(buffer);
    }
    Result<ArenaSolution> solution = solve(problem);
    if (!solution.ok())
      return function.emitError(solution.status().message());
    Builder builder(function.getContext());
    PortAttributes ports(function);
    for (auto [buffer, offset] : llvm::zip_equal(owners, solution->offsets)) {
      auto attr = builder.getI64IntegerAttr(offset);
      if (auto argument = dyn_cast<BlockArgument>(buffer))
        ports.argument(argument.getArgNumber()).set("tandem.offset", attr);
      else
        cast<AllocOp>(buffer.getDefiningOp()).setOffsetAttr(attr);
    }
    ports.write();
    function->setAttr("tandem.arena_peak",
                      builder.getI64IntegerAttr(solution->peak));
    function->setAttr("tandem.arena_lower_bound",
                      builder.getI64IntegerAttr(solution->lowerBound));
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

  /// First and last instruction that touch each buffer.
  void number() {
    lives.clear();
    int64_t at = 0;
    auto touch = [&](Value buffer, int64_t when) {
      auto [it, added] = lives.try_emplace(rootOf(buffer), when, when);
      it->second.second = when;
    };
    for (BlockArgument argument : body.getArguments())
      touch(argument, 0);
    for (Operation &op : body) {
      if (isa<AllocOp, RenameOp>(op))
        continue;
      for (Value operand : op.getOperands())
        touch(operand, at);
      ++at;
    }
    for (Operation &op : body)
      if (auto alloc = dyn_cast<AllocOp>(op))
        lives.try_emplace(alloc, 0, 0);
  }

  /// Lets results take over the buffers of operands that die.
  void reuse() {
    int64_t at = 0;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (isa<AllocOp, RenameOp>(op))
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
                lives[root].second == at;
    bool once = llvm::count_if(launch.getInputs(), [&](Value other) {
                  return rootOf(other) == root;
                }) == 1;
    if (!output || !dies || !once || bytesOf(input) != bytesOf(output))
      return;
    Value taken = input;
    if (taken.getType() != output.getType()) {
      OpBuilder builder(launch);
      taken =
          RenameOp::create(builder, launch.getLoc(), output.getType(), input);
      copyLayer(launch, taken.getDefiningOp());
    }
    lives[root].second = lives[output].second;
    output.getResult().replaceAllUsesWith(taken);
    output.erase();
  }

  func::FuncOp function;
  Block &body;
  DenseMap<Value, std::pair<int64_t, int64_t>> lives;
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

#include "ir/Microbatches.h"
#include "passes/pipeline/ChosenSchedule.h"
#include "passes/pipeline/Passes.h"
#include "passes/strategy/StageAssignment.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "passes/pipeline/Passes.h.inc"

namespace {

double costOf(Operation *op) {
  double cost = 0;
  if (auto costly = dyn_cast<CostOpInterface>(op))
    cost = static_cast<double>(costly.getFlops());
  if (cost > 0)
    return cost;
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      cost += static_cast<double>(tensor.getNumElements());
  return cost;
}

/// Each layer's share of each entry's work, added up. Of a training step that
/// is forward and backward of all microbatches and the optimizer once.
std::map<int64_t, double> unitCosts(ModuleOp module) {
  std::map<int64_t, double> total;
  for (auto function : module.getOps<func::FuncOp>()) {
    std::map<int64_t, double> own;
    double sum = 0;
    StepParts parts(function);
    function.walk([&](Operation *op) {
      std::optional<int64_t> layer = layerOf(op);
      if (!layer)
        return;
      double cost = costOf(op) * static_cast<double>(parts.timesOf(op));
      own[*layer] += cost;
      sum += cost;
    });
    for (auto [layer, cost] : own)
      total[layer] += sum > 0 ? cost / sum : 0;
  }
  return total;
}

/// A step's stages have an action each, so that none may be empty.
LogicalResult checkStages(ModuleOp module, int64_t stages, size_t units) {
  bool isStep =
      module.walk([](MicrobatchOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!isStep || stages <= static_cast<int64_t>(units))
    return success();
  return module.emitError("a training step has ")
         << stages << " stages for " << units
         << " units (embedding, layers and head), expected a unit or more on "
            "each; make 'pp' or the virtual stages fewer";
}

struct AssignStagesPass : impl::AssignStagesBase<AssignStagesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::map<int64_t, double> costs = unitCosts(module);
    if (costs.empty())
      return;
    Result<ChosenSchedule> schedule = ChosenSchedule::of(module);
    if (!schedule.ok()) {
      module.emitError(schedule.status().message());
      return signalPassFailure();
    }
    StageProblem problem;
    problem.stages = schedule->stages().stages();
    if (failed(checkStages(module, problem.stages, costs.size())))
      return signalPassFailure();
    for (auto [layer, cost] : costs)
      problem.costs.push_back(cost);
    Result<StageSolution> solution = solve(problem);
    if (!solution.ok()) {
      module.emitError(solution.status().message());
      return signalPassFailure();
    }
    std::map<int64_t, int64_t> stages;
    size_t unit = 0;
    for (auto [layer, cost] : costs)
      stages[layer] = solution->stageOf[unit++];
    Builder builder(module.getContext());
    module.walk([&](Operation *op) {
      if (std::optional<int64_t> layer = layerOf(op))
        op->setAttr(TandemDialect::kStage,
                    builder.getI64IntegerAttr(stages[*layer]));
    });
  }
};

} // namespace
} // namespace tandem

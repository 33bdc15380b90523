#include "passes/pipeline/ChosenSchedule.h"
#include "passes/pipeline/CoordinateBuilder.h"
#include "passes/pipeline/Passes.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_SPLITSTAGES
#include "passes/pipeline/Passes.h.inc"

namespace {

LogicalResult split(func::FuncOp function, const ChosenSchedule &chosen) {
  StagePlacement placement(function, chosen.stages());
  if (failed(placement.run()))
    return failure();
  Result<PipelineSchedule> pipeline =
      chosen.of(placement.stepParts().microbatches());
  if (!pipeline.ok())
    return function.emitOpError(pipeline.status().message());
  int64_t coordinates = chosen.stages().coordinates;
  for (int64_t coordinate = 0; coordinate < coordinates; ++coordinate)
    if (failed(CoordinateBuilder(function, placement, *pipeline, coordinate)
                   .build()))
      return failure();
  function.erase();
  return success();
}

struct SplitStagesPass : impl::SplitStagesBase<SplitStagesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Result<ChosenSchedule> chosen = ChosenSchedule::of(module);
    if (!chosen.ok()) {
      module.emitError(chosen.status().message());
      return signalPassFailure();
    }
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(split(function, *chosen)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

#include "passes/pipeline/CoordinateBuilder.h"
#include "passes/pipeline/Passes.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_SPLITSTAGES
#include "passes/pipeline/Passes.h.inc"

namespace {

/// Stage s is the coordinate's whose number is s modulo their count.
StageMap stageMapOf(ModuleOp module) {
  StageMap stages;
  stages.coordinates = meshOf(module).sizeOf("pp");
  auto count =
      module->getAttrOfType<IntegerAttr>(TandemDialect::kVirtualStages);
  int64_t all = stages.coordinates * (count ? count.getInt() : 1);
  for (int64_t stage = 0; stage < all; ++stage)
    stages.coordinateOf.push_back(stage % stages.coordinates);
  return stages;
}

LogicalResult split(func::FuncOp function, const StageMap &stages) {
  StagePlacement placement(function, stages);
  if (failed(placement.run()))
    return failure();
  for (int64_t coordinate = 0; coordinate < stages.coordinates; ++coordinate)
    if (failed(
            CoordinateBuilder(function, placement, stages, coordinate).build()))
      return failure();
  function.erase();
  return success();
}

struct SplitStagesPass : impl::SplitStagesBase<SplitStagesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    StageMap stages = stageMapOf(module);
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(split(function, stages)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

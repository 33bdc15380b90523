#include "passes/pipeline/ChosenSchedule.h"

#include "ir/Dialect.h"
#include "passes/strategy/NamedSchedules.h"
#include "passes/strategy/ScheduleText.h"

using namespace mlir;

namespace tandem {

Result<ChosenSchedule> ChosenSchedule::of(ModuleOp module) {
  ChosenSchedule chosen;
  int64_t coordinates = meshOf(module).sizeOf("pp");
  auto name = module->getAttrOfType<StringAttr>(TandemDialect::kScheduleName);
  auto text = module->getAttrOfType<StringAttr>(TandemDialect::kScheduleText);
  auto count =
      module->getAttrOfType<IntegerAttr>(TandemDialect::kVirtualStages);
  chosen.name = name ? name.str() : "1f1b";
  chosen.virtualStages = count ? count.getInt() : 0;
  if (!text) {
    TANDEM_ASSIGN(chosen.first, makeSchedule({chosen.name, coordinates, 1,
                                              chosen.virtualStages}));
    return chosen;
  }
  chosen.isTable = true;
  TANDEM_ASSIGN(chosen.first, parseSchedule(text.str(), chosen.name));
  if (chosen.first.problem.coordinates != coordinates)
    return Status::refused(
        chosen.name + ": the table is of " +
        std::to_string(chosen.first.problem.coordinates) +
        " coordinates, the mesh has pp=" + std::to_string(coordinates));
  return chosen;
}

/// Every microbatch takes its actions in the order of their needs.
static PipelineSchedule onlyFirst(PipelineSchedule pipeline) {
  pipeline.problem.microbatches = 1;
  for (ActionList &list : pipeline.schedule.actions)
    llvm::erase_if(list, [](const ScheduleAction &action) {
      return action.microbatch > 0;
    });
  return pipeline;
}

Result<PipelineSchedule> ChosenSchedule::of(int64_t microbatches) const {
  if (!isTable)
    return makeSchedule(
        {name, stages().coordinates, microbatches, virtualStages});
  if (microbatches == stages().microbatches)
    return first;
  if (microbatches == 1)
    return onlyFirst(first);
  return Status::refused(
      name + ": the table is of " + std::to_string(stages().microbatches) +
      " microbatches, the step has " + std::to_string(microbatches));
}

} // namespace tandem

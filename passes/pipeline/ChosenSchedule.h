//===- ChosenSchedule.h - The schedule that a module asks for ---*- C++ -*-===//
//
// Module attributes say which: `tandem.schedule_name` (a name of
// NamedSchedules.h; `1f1b` where there is none) with `tandem.virtual_stages`,
// or `tandem.schedule_text`, a table as ScheduleText.h reads it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PIPELINE_CHOSENSCHEDULE_H
#define TANDEM_PASSES_PIPELINE_CHOSENSCHEDULE_H

#include "passes/strategy/PipelineSchedule.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace tandem {

class ChosenSchedule {
public:
  /// Refuses what no schedule has: see `makeSchedule` and `parseSchedule`.
  static Result<ChosenSchedule> of(mlir::ModuleOp module);

  /// The stages and where they are.
  const ScheduleProblem &stages() const { return first.problem; }
  /// The schedule of a step of so many microbatches. A table is of its own
  /// number; of one microbatch there is one order.
  Result<PipelineSchedule> of(int64_t microbatches) const;

private:
  std::string name;
  int64_t virtualStages = 0;
  bool isTable = false;
  PipelineSchedule first; ///< The table, or that of one microbatch.
};

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINE_CHOSENSCHEDULE_H

#include "runtime/plan/Verify.h"
#include "runtime/plan/MemoryCheck.h"
#include "runtime/plan/MemoryLimit.h"
#include "runtime/plan/PlacementCheck.h"
#include "runtime/plan/ScheduleCheck.h"
#include "runtime/plan/TypeCheck.h"
#include "runtime/plan/UseCheck.h"

namespace tandem {

Status verify(const Plan &plan, const VerifyOptions &options) {
  TANDEM_TRY(checkPlacement(plan));
  std::vector<uint64_t> arenaEnds(plan.stages(), 0);
  for (const fb::Entry *entry : *plan.table().entries()) {
    TANDEM_TRY(checkSchedule(plan, *entry));
    TANDEM_TRY(checkTypes(plan, *entry));
    for (uint32_t stage = 0; stage < plan.stages(); ++stage)
      TANDEM_TRY(checkMemory(plan, *entry, stage, arenaEnds[stage]));
    TANDEM_TRY(walkTogether(
        plan, *entry, [](const std::vector<Step> &) { return Status(); }));
  }
  TANDEM_TRY(checkDeclaredMemory(plan, arenaEnds));
  TANDEM_TRY(checkUses(plan));
  return checkMemoryLimit(plan, options.memoryBytes, options.workspace);
}

} // namespace tandem

//===- MemoryLimit.h - What a rank takes, and whether it may ----*- C++ -*-===//
//
// The one place that says what a rank allocates, to the byte; the executor
// allocates by it, commands refuse by it:
//
//   [ parameters and states, to a page's end | arena_peak ]  workspace
//
// Workspace is what kernels want beside the arena. It depends on threads, so
// that runtime/exec knows it (Workspace.h), not the plan.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_MEMORYLIMIT_H
#define TANDEM_RUNTIME_PLAN_MEMORYLIMIT_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// Where a stage's parameters and states end: a multiple of 4096, so that
/// every offset behind it is as aligned as the plan made it.
uint64_t persistentBytes(const Plan &plan, uint32_t stage);
/// The one allocation for tensors of a rank of `stage`.
uint64_t arenaBytes(const Plan &plan, uint32_t stage);

/// `512 bytes of parameters, 0 of state, ...`, the parts of a rank's memory.
std::string memoryParts(const Plan &plan, uint32_t stage, uint64_t workspace);
/// What lives when a rank of `stage` is fullest, for whoever is refused.
std::string peakText(const Plan &plan, uint32_t stage);

/// Refuses a plan that needs more than `limit` bytes a rank (0: no limit), and
/// says by how much and for what. `workspace`: by stage; empty for none.
Status checkMemoryLimit(const Plan &plan, uint64_t limit,
                        const std::vector<uint64_t> &workspace);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_MEMORYLIMIT_H

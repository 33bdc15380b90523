//===- PlacementCheck.h - Parameters and states in their places -*- C++ -*-===//
//
// The persistent part of each `pp` coordinate: parameters and states lie in
// it without overlap, within the memory that the plan declares; each
// parameter's view reads elements that the stored tensor has, none twice.
// That the slices of ranks tile a tensor follows from extentOf, which is why
// no rank is looked at.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_PLACEMENTCHECK_H
#define TANDEM_RUNTIME_PLAN_PLACEMENTCHECK_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// The granularity to which declared sizes may be rounded up.
inline constexpr uint64_t kMemorySlack = 4096;

Status checkPlacement(const Plan &plan);

/// Refuses declared memory that is less than what is used, or more by more
/// than rounding. `arenaEnds` holds, for each stage, where its highest value
/// ends.
Status checkDeclaredMemory(const Plan &plan,
                           const std::vector<uint64_t> &arenaEnds);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_PLACEMENTCHECK_H

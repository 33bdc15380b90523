//===- WeightPlacement.h - Where weight actions go --------------*- C++ -*-===//

#ifndef TANDEM_PASSES_STRATEGY_WEIGHTPLACEMENT_H
#define TANDEM_PASSES_STRATEGY_WEIGHTPLACEMENT_H

#include "passes/strategy/PipelineSchedule.h"

namespace tandem {

/// Puts the weight actions of a problem with split backward between `order`,
/// each coordinate's forward and backward actions. Nothing needs them, so that
/// they go where the coordinate would wait, if all times were 1, or where it
/// has `problem.slotLimit` slots and the next forward needs another, the
/// oldest first; the rest at the end. Lists stay incomplete where `order` is
/// none or the limit too low, which `verify` tells.
std::vector<ActionList> placeWeights(const ScheduleProblem &problem,
                                     const std::vector<ActionList> &order);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_WEIGHTPLACEMENT_H

//===- MessageOrder.h - Values between coordinates, in order ----*- C++ -*-===//
//
// What one coordinate sends to another goes in two lanes, one for what forward
// actions give and one for what backward actions give. A lane matches by order,
// so that the receiver must need what comes in it in the order in which the
// sender makes it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_MESSAGEORDER_H
#define TANDEM_PASSES_STRATEGY_MESSAGEORDER_H

#include "passes/strategy/PipelineSchedule.h"

#include <optional>

namespace tandem {

/// Two values of a lane of which the one that is sent first is needed last;
/// places are among the coordinate's actions.
struct Overtaking {
  int64_t sender = 0, sentFirst = 0, sentLast = 0;
  int64_t receiver = 0, neededFirst = 0, neededLast = 0;
};

/// The first in `lists`, in which every action is there once.
std::optional<Overtaking> findOvertaking(const ScheduleProblem &problem,
                                         const std::vector<ActionList> &lists);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_MESSAGEORDER_H

//===- ScheduleTimeline.h - When each action of a schedule runs -*- C++ -*-===//
//
// Each coordinate begins its next action as soon as it is free and what the
// action needs has ended (and come over, if it was another coordinate's).
//
//   1f1b, 2 stages, 3 microbatches, forward 1, backward 2:
//   0: 0 1 . 2 0 0 . ...        makespan 12, busy 9 of 12: bubble 1/4
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_SCHEDULETIMELINE_H
#define TANDEM_PASSES_STRATEGY_SCHEDULETIMELINE_H

#include "passes/strategy/PipelineSchedule.h"

namespace tandem {

struct TimedAction {
  double start = 0;
  double end = 0;
};

struct Timeline {
  /// As the schedule's actions.
  std::vector<std::vector<TimedAction>> actions;
  double makespan = 0;
  std::vector<double> busy; ///< Of each coordinate.
  /// No order of the problem's actions can take less.
  double lowerBound = 0;

  /// What a coordinate waits between the step's start and end.
  double idleOf(int64_t coordinate) const {
    return makespan - busy[coordinate];
  }
  /// What a coordinate waits between its own first and last action.
  double idleWithin(int64_t coordinate) const;
  /// The share of all coordinates' time in which they wait, from 0 to 1.
  double bubble() const;
};

/// `schedule` must be verified.
Timeline simulate(const ScheduleProblem &problem, const Schedule &schedule);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_SCHEDULETIMELINE_H

//===- ScheduleText.h - A schedule as a text table --------------*- C++ -*-===//
//
// One line a coordinate, in their order: its number, a colon, its actions. An
// action is F (forward), B (backward) or W (weight), the microbatch's number,
// and, where a coordinate has several stages, a point and the stage's number.
// What follows a # is for people; a line that begins with a blank goes on with
// the coordinate above.
//
//   # 1f1b, 2 coordinates, 3 microbatches
//   0: F0 F1 B0 F2 B1 B2
//   1: F0 B0 F1 B1 F2 B2
//
// Stages, their coordinates and the number of microbatches follow from the
// actions; backward is split where there is a W. Slots are assigned anew.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_SCHEDULETEXT_H
#define TANDEM_PASSES_STRATEGY_SCHEDULETEXT_H

#include "passes/strategy/PipelineSchedule.h"

namespace tandem {

/// A verified schedule, all times 1, or a failure that begins with
/// `NAME:LINE:`; `name` is the file's.
Result<PipelineSchedule> parseSchedule(const std::string &text,
                                       const std::string &name);

/// What `parseSchedule` reads.
std::string printSchedule(const PipelineSchedule &pipeline);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_SCHEDULETEXT_H

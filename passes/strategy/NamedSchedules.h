//===- NamedSchedules.h - Pipeline schedules by name ------------*- C++ -*-===//
//
// The known orders of p coordinates and m microbatches:
//
// - gpipe: all forwards, then all backwards (arXiv:1811.06965).
// - 1f1b: a backward as soon as it can be, then a forward in turn
//   (PipeDream-flush, arXiv:2006.09503; Megatron-LM, arXiv:2104.04473).
// - interleaved: 1f1b of v stages a coordinate, stage s on s mod p, in groups
//   of at least p microbatches (arXiv:2104.04473).
// - zb-h1: 1f1b with split backward, weight actions put where a coordinate
//   would wait or has p microbatches in flight (arXiv:2401.10241).
// - zb-v: two stages a coordinate, 0 to p-1 forth and p to 2p-1 back, split
//   backward, at most 2p half microbatches in flight (arXiv:2401.10241,
//   arXiv:2405.15362).
//
// docs/schedules.md has a page of each.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_NAMEDSCHEDULES_H
#define TANDEM_PASSES_STRATEGY_NAMEDSCHEDULES_H

#include "passes/strategy/PipelineSchedule.h"

namespace tandem {

struct ScheduleRequest {
  std::string name = "1f1b";
  int64_t coordinates = 1;
  int64_t microbatches = 1;
  /// Stages of a coordinate; 0: as many as the schedule has if not told.
  int64_t virtualStages = 0;
};

/// All names, in the order above.
std::vector<std::string> scheduleNames();

/// A verified schedule with slots assigned, all times 1.
Result<PipelineSchedule> makeSchedule(const ScheduleRequest &request);

/// How `interleaved` cuts m microbatches into groups of at least p, as even as
/// can be, larger ones first; one group where m < p.
std::vector<int64_t> interleavedGroups(int64_t coordinates,
                                       int64_t microbatches);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_NAMEDSCHEDULES_H

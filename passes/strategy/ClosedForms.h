//===- ClosedForms.h - What known schedules cost, as formulas ---*- C++ -*-===//
//
// With p coordinates, v stages on each, m microbatches, every stage taking F
// forward, B for the input's gradient and W for the weights', and nothing for
// transfers, each coordinate works m v (F+B+W) and waits besides
//
//   gpipe, 1f1b    (p-1) (F+B+W)                        arXiv:2104.04473, 2.2
//   interleaved    the same, and where m < p as often again
//                  (v-1) (p-m)                          arXiv:2104.04473, 2.2
//   zb-h1          (p-1) (F+B) - (min(m,p)-1) W         arXiv:2401.10241
//                  for W no longer than F and B
//   zb-v           (p-1) F where m >= p, up to max(3p-1-2m, 4p-1-4m) F else
//                  for F = B = W                        arXiv:2405.15362
//
// from the first action of the step to its last. The papers on zero bubble
// count each coordinate from its own first action to its own last, which zb-v
// fills without a gap; a step that ends for all at once (a norm of gradients)
// has the ramps too. The microbatches in flight at once on coordinate c are
//
//   gpipe m          1f1b min(m, p-c)         interleaved min(v m, (v-1) g +
//   zb-h1 min(m, p)  zb-v 2 min(m, p)         2 (p-1-c) + 1), g the first group
//
// each of a stage that is 1/v of the coordinate.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_CLOSEDFORMS_H
#define TANDEM_PASSES_STRATEGY_CLOSEDFORMS_H

#include "passes/strategy/NamedSchedules.h"

#include <optional>

namespace tandem {

/// What formulas are asked about.
struct UniformPipeline {
  int64_t coordinates = 1, virtualStages = 1, microbatches = 1;
  StageTimes times; ///< Every stage's.
};

struct ClosedForm {
  /// What each coordinate waits in a step; none where the formula does not
  /// hold for these times.
  std::optional<double> idle;
  std::string idleFormula;
  std::vector<int64_t> inFlight; ///< Of each coordinate.
  std::string inFlightFormula;

  /// The share of the time in which coordinates wait.
  std::optional<double> bubble(const UniformPipeline &pipeline) const;
};

/// Of a schedule that `makeSchedule` makes of `request`.
Result<ClosedForm> closedFormOf(const ScheduleRequest &request,
                                const StageTimes &times);

// Each schedule's own: idle time, and what is in flight on coordinate c.
std::optional<double> flushIdle(const UniformPipeline &pipeline);
std::optional<double> interleavedIdle(const UniformPipeline &pipeline);
std::optional<double> zeroBubbleIdle(const UniformPipeline &pipeline);
std::optional<double> waveIdle(const UniformPipeline &pipeline);
int64_t allInFlight(const UniformPipeline &pipeline, int64_t coordinate);
int64_t warmInFlight(const UniformPipeline &pipeline, int64_t coordinate);
int64_t interleavedInFlight(const UniformPipeline &pipeline,
                            int64_t coordinate);
int64_t fullInFlight(const UniformPipeline &pipeline, int64_t coordinate);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_CLOSEDFORMS_H

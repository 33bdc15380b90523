//===- TrainProgress.h - How far a training run is --------------*- C++ -*-===//
//
//   step 120/2000  loss 2.4133  18.3k tokens/s  MFU 61.2 %  4 min 12 s left
//
// On a terminal one line that is written over; elsewhere a line now and then:
// the first step, the last one, and what comes ten seconds behind a line.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TOOLS_COMMANDS_TRAINPROGRESS_H
#define TANDEM_TOOLS_COMMANDS_TRAINPROGRESS_H

#include "runtime/session/TrainingLog.h"

#include <chrono>

namespace tandem {

class TrainProgress {
public:
  /// Of a run that ends behind step `steps`. Silent below LogLevel::Info.
  explicit TrainProgress(int64_t steps);
  ~TrainProgress();

  /// Whether anybody sees it.
  bool isShown() const { return shown; }
  void show(const StepReport &report);

private:
  using Clock = std::chrono::steady_clock;

  int64_t steps;
  bool shown, terminal;
  bool written = false; ///< A line stands on the terminal.
  double secondsPerStep = 0;
  Clock::time_point last;
};

/// The line, without what begins and ends it.
std::string progressText(const StepReport &report, int64_t steps,
                         double secondsPerStep);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_TRAINPROGRESS_H

//===- TrainingLog.h - One JSON object a step -------------------*- C++ -*-===//
//
//   {"step": 12, "loss": 2.31, "grad_norm": 0.84, "lr": 0.0003, ...}
//
// `step` counts from 1, `loss` is the batch's before that step. A line is
// whole or not there. A run that resumes continues the file behind the step it
// resumes from, so that no step stands in it twice.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_TRAININGLOG_H
#define TANDEM_RUNTIME_SESSION_TRAININGLOG_H

#include "runtime/base/Status.h"

#include <memory>

namespace tandem {

/// What is known of one step. Negative: not known.
struct StepReport {
  int64_t step = 0; ///< From 1.
  double loss = 0, gradNorm = 0, rate = 0;
  double seconds = 0, tokensPerSecond = 0;
  double utilisation = -1; ///< Model flops by the machine's peak.
  int64_t window = 0;      ///< The first window that it learned from.
  double evalLoss = -1;    ///< Behind the step, where it was measured.
};

/// As a line of the log, without its end.
std::string logLine(const StepReport &report);

class TrainingLog {
public:
  /// Begins `path` anew, or keeps of it the steps up to `keepSteps` > 0.
  static Result<TrainingLog> open(const std::string &path, int64_t keepSteps);
  Status add(const StepReport &report);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  std::string path;
  std::unique_ptr<std::FILE, Close> file;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_TRAININGLOG_H

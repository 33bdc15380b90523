//===- LearningRate.h - How large a step is, by its number ------*- C++ -*-===//
//
// Of `steps` steps, counted s = 0, 1, ..., the first `warmup` grow in a line
// to the peak; what follows is p = (s - warmup) / (steps - warmup) of the way:
//
//   s < warmup   peak * (s + 1) / warmup
//   constant     peak
//   linear       peak * (1 - p)
//   cosine       peak * (1 + cos(pi p)) / 2
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_LEARNINGRATE_H
#define TANDEM_RUNTIME_SESSION_LEARNINGRATE_H

#include <cstdint>
#include <optional>
#include <string>

namespace tandem {

struct LearningRate {
  enum Schedule { Constant, Linear, Cosine } schedule = Constant;
  double peak = 3e-4;
  int64_t warmup = 0, steps = 1;

  /// Of step `step` >= 0; 0 beyond the last one unless it is constant.
  double at(int64_t step) const;
};

/// `constant`, `linear`, `cosine`; nothing for other words.
std::optional<LearningRate::Schedule>
parseRateSchedule(const std::string &word);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_LEARNINGRATE_H

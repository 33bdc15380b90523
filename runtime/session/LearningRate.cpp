#include "runtime/session/LearningRate.h"

#include <algorithm>
#include <cmath>

namespace tandem {

double LearningRate::at(int64_t step) const {
  if (step < warmup)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  double way = static_cast<double>(step - warmup) /
               static_cast<double>(std::max<int64_t>(1, steps - warmup));
  way = std::min(way, 1.0);
  switch (schedule) {
  case Constant:
    return peak;
  case Linear:
    return peak * (1 - way);
  case Cosine:
    return peak * (1 + std::cos(std::acos(-1.0) * way)) / 2;
  }
  return peak;
}

std::optional<LearningRate::Schedule>
parseRateSchedule(const std::string &word) {
  if (word == "constant")
    return LearningRate::Constant;
  if (word == "linear")
    return LearningRate::Linear;
  if (word == "cosine")
    return LearningRate::Cosine;
  return std::nullopt;
}

} // namespace tandem

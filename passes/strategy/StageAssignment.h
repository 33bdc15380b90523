//===- StageAssignment.h - Units of a model over stages ---------*- C++ -*-===//
//
// What it is: the linear partition problem. Units (the embedding, each layer,
// the head) keep their order; each stage takes a contiguous run; the slowest
// stage is made as fast as it can be, and among such cuts the one with the
// smallest sum of squares, so that the others are even too.
//
//   costs 1 4 4 4 9 over 3 stages:  {1 4} {4 4} {9}, slowest 9
//
// Exact by dynamic programming over (stage, last unit).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_STAGEASSIGNMENT_H
#define TANDEM_PASSES_STRATEGY_STAGEASSIGNMENT_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

struct StageProblem {
  std::vector<double> costs; ///< Of each unit, none negative.
  int64_t stages = 1;

  /// Refuses no units, no stages and negative costs.
  Status check() const;
};

struct StageSolution {
  std::vector<int64_t> stageOf; ///< Of each unit, ascending.
  double slowest = 0;
  /// No assignment can be faster: the larger of the mean over stages and the
  /// largest unit.
  double lowerBound = 0;

  /// Whether it assigns all units of `problem` in order and says the truth.
  Status verify(const StageProblem &problem) const;
};

/// With more stages than units the last stages stay empty.
Result<StageSolution> solve(const StageProblem &problem);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_STAGEASSIGNMENT_H

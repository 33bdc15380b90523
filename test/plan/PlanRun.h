//===- PlanRun.h - A plan at work on made-up numbers ------------*- C++ -*-===//
//
// Runs all entries of a plan twice, in order of their names, on ranks that are
// threads, with weights and inputs that follow from names and global indices,
// and keeps what a caller could see: the outputs (the second round shows what
// states were left). So two plans of one model, or one plan on two devices,
// can be compared.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_PLAN_PLANRUN_H
#define TANDEM_TEST_PLAN_PLANRUN_H

#include "runtime/plan/Plan.h"

#include <map>

namespace tandem::test {

struct PlanResult {
  /// Why no rank ran anything, OK if all were made ready.
  Status refused;
  /// What stopped the ranks later.
  Status failed;
  /// By `entry output`: valid elements of all ranks, in order.
  std::map<std::string, std::vector<double>> values;
};

/// `seed` 0: the cpu device; else chaos. Token ids are below `vocabulary`.
PlanResult runPlan(const Plan &plan, int64_t vocabulary, uint64_t seed = 0);

/// Whether outputs of both are equal but for rounding.
bool isClose(const PlanResult &a, const PlanResult &b);

} // namespace tandem::test

#endif // TANDEM_TEST_PLAN_PLANRUN_H

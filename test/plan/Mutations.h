//===- Mutations.h - Ways in which a plan can be wrong ----------*- C++ -*-===//
//
// From a plan that is right: changes each of which could hurt. What hurts is
// known from the order in which values are written and read, not from the
// verifier.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_PLAN_MUTATIONS_H
#define TANDEM_TEST_PLAN_MUTATIONS_H

#include "runtime/plan/Plan.h"

#include <functional>

namespace tandem::test {

struct Mutation {
  std::string kind; ///< Such as `dropped`.
  std::string what; ///< Kind and place.
  std::function<void(fb::PlanT &)> apply;
};

/// Mutations of the last entry and of what all entries share. `plan`
/// outlives them. `isMinimal`: each of its events is needed, and so is the
/// place of each record and wait; else events stay as they are.
std::vector<Mutation> mutationsOf(const fb::PlanT &plan, bool isMinimal = true);

/// What loading or verifying says of a plan; `fine` if nothing.
std::string verdict(const fb::PlanT &native);

} // namespace tandem::test

#endif // TANDEM_TEST_PLAN_MUTATIONS_H

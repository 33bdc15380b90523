//===- CompiledPlans.h - Plans that the compiler makes ----------*- C++ -*-===//
//
// Tiny models of several families, compiled for meshes that between them
// split whatever can be split. They need no weights.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_PLAN_COMPILEDPLANS_H
#define TANDEM_TEST_PLAN_COMPILEDPLANS_H

#include "runtime/plan/Plan.h"

namespace tandem::test {

struct CompiledPlan {
  std::string name; ///< Of model and mesh.
  fb::PlanT plan;
};

/// Ten plans for inference and three of steps of training, compiled anew; fails
/// with the compiler's message.
Result<std::vector<CompiledPlan>> compiledPlans();

} // namespace tandem::test

#endif // TANDEM_TEST_PLAN_COMPILEDPLANS_H

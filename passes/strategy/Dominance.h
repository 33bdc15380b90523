//===- Dominance.h - Alternatives that need not be looked at ----*- C++ -*-===//
//
// An alternative can be left out where it is forbidden whatever the neighbours
// take, or where another of the same variable costs no more whatever they
// take:
//
//   variable 0: "a" 5, "b" 7      next to "x": a + x = 9, b + x = 8
//   term 0 1:   4, 2, 1, 1        next to "y": a + y = 7, b + y = 8
//
// Neither goes, but were a + x 6, "b" would. Leaving one out may let the next
// go. Some cheapest assignment is always left, of equals the one with lower
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_DOMINANCE_H
#define TANDEM_PASSES_STRATEGY_DOMINANCE_H

#include "passes/strategy/CostTables.h"

namespace tandem {

/// A network of which each variable has kept some alternatives, at least one.
struct ReducedTables {
  CostTables network;
  std::vector<std::vector<int>> kept; ///< The numbers they had before.
};

/// Looks at no more than about `maximumWork` entries.
ReducedTables withoutDominated(const CostTables &network, int64_t maximumWork);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_DOMINANCE_H

//===- CostComponent.h - Solving a network that hangs together --*- C++ -*-===//
//
// Chooses between the ways to solve a network: without what is dominated,
// exactly where the options allow it, else by a bound and a search.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_COSTCOMPONENT_H
#define TANDEM_PASSES_STRATEGY_COSTCOMPONENT_H

#include "passes/strategy/CostTables.h"

namespace tandem {

struct ComponentSolution {
  std::vector<int> assignment;
  int64_t lowerBound = 0;
  /// Where nothing is allowed: a few variables of which no combination is.
  std::vector<int> conflict;
  /// False where no allowed assignment was found, though one may exist.
  bool allowed = true;
};

ComponentSolution solveComponent(const CostTables &network,
                                 const CostNetworkOptions &options);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_COSTCOMPONENT_H

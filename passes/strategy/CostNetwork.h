//===- CostNetwork.h - Choices that cost, alone and together ----*- C++ -*-===//
//
// What it is: a cost network (weighted constraint network). Each variable
// takes one of its alternatives, which may cost something; each term is a
// table of what a combination of several variables' alternatives costs, or
// forbids. Asked for is the assignment with the smallest sum.
//
//   variable 0 "up":   "keep" 0, "gather" 30      keep + keep:     40
//   variable 1 "down": "keep" 0, "gather" 30      keep + gather:   30
//   term 0 1: 40, 0, 0, 0                         gather + gather: 60
//
//   up keeps, down gathers: 30
//
// Solved by bucket elimination: a variable's tables are added up and minimised
// over it, which leaves one table over its neighbours; variables with few
// neighbours go first. This is exact and takes time linear in the number of
// variables as long as the network is narrow (chains and trees of layers,
// whatever their length, with a few variables shared by all). Where a table
// would become larger than allowed, the sum is minimised in parts, which
// gives a bound from below, and a local search gives an answer near it.
//
// Sums never wrap: they stop at kLargestCost, and whatever includes
// kForbidden is kForbidden. The same network and options give the same answer
// on every machine; nothing stops by the clock.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_COSTNETWORK_H
#define TANDEM_PASSES_STRATEGY_COSTNETWORK_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

/// The cost of what may not be.
constexpr int64_t kForbidden = INT64_MAX;
/// Where sums of allowed costs stop.
constexpr int64_t kLargestCost = (int64_t(1) << 62) - 1;

/// The sum of two costs, each at least 0.
inline int64_t addCosts(int64_t a, int64_t b) {
  // Two of the largest stay below kForbidden, two of any fit 64 bits.
  uint64_t sum = static_cast<uint64_t>(a) + static_cast<uint64_t>(b);
  if (sum >= static_cast<uint64_t>(kForbidden))
    return a == kForbidden || b == kForbidden ? kForbidden : kLargestCost;
  return static_cast<int64_t>(sum) < kLargestCost ? static_cast<int64_t>(sum)
                                                  : kLargestCost;
}

struct CostAlternative {
  std::string name;
  int64_t cost = 0; ///< At least 0; kForbidden where it may not be taken.
};

struct CostVariable {
  std::string name; ///< For people; need not be unique.
  std::vector<CostAlternative> alternatives;
};

struct CostTerm {
  std::vector<int> variables; ///< Their numbers, in any order, none twice.
  /// One for each combination of alternatives, the last variable's fastest.
  std::vector<int64_t> costs;
};

struct CostNetwork {
  std::vector<CostVariable> variables;
  std::vector<CostTerm> terms;

  /// Refuses variables without alternatives, negative costs, and terms whose
  /// variables do not exist or whose tables have another size.
  Status check() const;

  /// What `alternatives`, one for each variable and in range, cost together.
  int64_t costOf(const std::vector<int> &alternatives) const;

  /// One line a variable, one a term, as in the header; `parse` reads it back.
  std::string toString() const;
  /// Blank lines and what follows a `#` at a line's start are left out.
  static Result<CostNetwork> parse(const std::string &text);
};

struct CostNetworkOptions {
  /// The most entries of a table that elimination may build.
  int64_t maximumTable = int64_t(1) << 20;
  /// The most entries that elimination may add up in all, of one component.
  int64_t maximumWork = int64_t(1) << 28;
  /// How often the local search may decide a variable anew, in a component
  /// that cannot be eliminated within these limits.
  int64_t moves = 200000;

  Status check() const;
};

struct CostNetworkSolution {
  std::vector<int> alternatives; ///< Of each variable.
  int64_t cost = 0;
  int64_t lowerBound = 0; ///< No assignment costs less.
  bool exact = false;     ///< Whether it is proved to be the cheapest.

  /// Whether it assigns all variables of `problem` and says the truth.
  Status verify(const CostNetwork &problem) const;
};

/// An assignment that is allowed, or a failure that names variables which
/// cannot be reconciled. Of assignments that cost the same, one is returned
/// in which no variable alone could take a lower alternative; whoever
/// prefers more among equals should multiply all costs and add the preference
/// to them.
Result<CostNetworkSolution> solve(const CostNetwork &problem,
                                  const CostNetworkOptions &options = {});

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_COSTNETWORK_H

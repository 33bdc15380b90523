//===- Elimination.h - Variables of a network minimised away ----*- C++ -*-===//
//
// Bucket elimination. To eliminate a variable, add up the tables it is in and
// keep, for each combination of the other variables, the smallest sum: a
// table over the variable's neighbours. Backwards, each variable takes the
// alternative that is best given those eliminated after it.
//
//   a - b - c    a: min over a of ab -> b    b: min over b of b + bc -> c
//
// A plan is made first, from the scopes alone: which variable next, and which
// tables to add up. Where the sum would pass the limit, its tables are divided
// into parts that do not (mini-buckets) and each part is minimised by itself:
// the result is a bound from below. Parts first exchange costs of the variable
// alone so that each has the same share, which makes the bound tighter.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_ELIMINATION_H
#define TANDEM_PASSES_STRATEGY_ELIMINATION_H

#include "passes/strategy/CostTables.h"

namespace tandem {

/// Tables that are added up and minimised together.
struct EliminationPart {
  std::vector<int> tables;
  std::vector<int> scope; ///< Of the sum; the eliminated variable comes last.
  /// The table that takes the result, -1 for the network's constant.
  int output = -1;
};

struct EliminationStep {
  int variable;
  std::vector<EliminationPart> parts; ///< One where it is exact.
};

struct EliminationPlan {
  std::vector<EliminationStep> steps;
  /// Of all tables: the network's, then those that steps make.
  std::vector<std::vector<int>> scopes;
  int64_t work = 0;  ///< Entries added up, as far as they fit 62 bits.
  bool exact = true; ///< Whether no sum had to be divided.
};

/// Which variable is eliminated next; the last chooses first.
enum class EliminationOrder {
  Smallest, ///< The one with the smallest sum; of equals the highest number.
  Backward, ///< The one with the highest number.
};

/// No sum of two or more tables has more than `maximumTable` entries.
EliminationPlan
planElimination(const CostTables &network, int64_t maximumTable,
                EliminationOrder order = EliminationOrder::Smallest);

/// Variables, ascending, without which the others can be eliminated exactly
/// with tables of about `maximumTable` entries. Where one has to go, it is one
/// with many neighbours, weighted by its `preference` (at least 1).
std::vector<int> cutsetOf(const CostTables &network, int64_t maximumTable,
                          const std::vector<int> &preference);

struct Elimination {
  /// No assignment costs less; kForbidden where none is allowed.
  int64_t lowerBound = 0;
  /// The best where the plan is exact, else a guess that may be forbidden.
  std::vector<int> assignment;
  /// Where none is allowed: variables of which no combination is.
  std::vector<int> conflict;
};

Elimination eliminate(CostTables network, const EliminationPlan &plan);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_ELIMINATION_H

//===- LocalSearch.h - A better assignment near a given one -----*- C++ -*-===//
//
// For networks too wide to be eliminated. Starting from an assignment, a move
// decides some variables anew while the others stay: single variables as long
// as that helps, then blocks of variables around one of them, each block
// eliminated exactly. The moves are counted and drawn from a fixed sequence.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_LOCALSEARCH_H
#define TANDEM_PASSES_STRATEGY_LOCALSEARCH_H

#include "passes/strategy/CostTables.h"

namespace tandem {

/// How many tables forbid an assignment, then what the others cost.
struct AssignmentScore {
  int64_t forbidden = 0;
  int64_t cost = 0;

  bool operator<(const AssignmentScore &other) const {
    return forbidden != other.forbidden ? forbidden < other.forbidden
                                        : cost < other.cost;
  }
};

class LocalSearch {
public:
  LocalSearch(const CostTables &network, std::vector<int> start);

  /// Decides variables anew up to `moves` times, or until `lowerBound` is
  /// reached.
  void improve(int64_t moves, int64_t lowerBound);

  /// Takes lower alternatives where a variable alone can at the same cost,
  /// lower-numbered variables first.
  void lowerTies();

  AssignmentScore score() const;
  const std::vector<int> &assignment() const { return values; }

private:
  std::vector<AssignmentScore> scoresOf(int variable) const;
  bool decide(int variable);
  void descend(std::vector<int> pending);
  std::vector<int> blockAround(int seed, uint64_t size);
  void decideBlock(const std::vector<int> &block);
  CostTables conditioned(const std::vector<int> &block) const;
  uint64_t draw(uint64_t below);

  const CostTables &network;
  std::vector<int> values;
  std::vector<std::vector<int>> tablesOf; ///< Of each variable.
  int64_t movesLeft = 0;
  uint64_t drawn = 0;
};

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_LOCALSEARCH_H

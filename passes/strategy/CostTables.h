//===- CostTables.h - A cost network as its solver sees it ------*- C++ -*-===//
//
// The variables of a network by their sizes alone, each with a table of its
// own, and further tables over two or more variables in ascending order, no
// two over the same.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_COSTTABLES_H
#define TANDEM_PASSES_STRATEGY_COSTTABLES_H

#include "passes/strategy/CostNetwork.h"

namespace tandem {

struct CostTable {
  std::vector<int> scope;     ///< Variables.
  std::vector<int64_t> costs; ///< Row-major, the last variable fastest.
};

struct CostTables {
  std::vector<int> sizes; ///< Alternatives of each variable.
  /// Table v is that of variable v alone; then those over several.
  std::vector<CostTable> tables;
  int64_t constant = 0;

  static CostTables of(const CostNetwork &network);

  int variables() const { return static_cast<int>(sizes.size()); }

  /// The tables `which`, ascending, over the variables `kept`, ascending and
  /// renumbered from 0; all others take their alternative of `values`.
  CostTables restrictedTo(const std::vector<int> &kept,
                          const std::vector<int> &values,
                          const std::vector<int> &which) const;
};

/// Adds table `from` to the entries of `sum`, a table over `scope`, which
/// includes all variables of `from`, in any order.
void addTable(std::vector<int64_t> &sum, const std::vector<int> &scope,
              const CostTable &from, const std::vector<int> &sizes);

/// Where the entry of `table` for the alternatives `values` lies, the
/// variable `except` (-1: none) taking its first.
inline size_t entryOf(const CostTable &table, const std::vector<int> &values,
                      const std::vector<int> &sizes, int except = -1) {
  size_t entry = 0;
  for (int v : table.scope)
    entry = entry * sizes[v] + (v == except ? 0 : values[v]);
  return entry;
}

/// How far apart entries of `table` lie that differ by one in `variable`.
inline size_t strideOf(const CostTable &table, int variable,
                       const std::vector<int> &sizes) {
  size_t stride = 1;
  for (size_t d = table.scope.size(); table.scope[--d] != variable;)
    stride *= sizes[table.scope[d]];
  return stride;
}

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_COSTTABLES_H

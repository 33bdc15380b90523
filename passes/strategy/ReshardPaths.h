//===- ReshardPaths.h - Reshard paths, each searched once ------*- C++ -*-===//
//
// What it is: reshard paths between the layouts of one module, each searched
// once, and the cheapest tree of them where one value is wanted in several
// layouts: what is reduced once may then be sliced for each user.
//
//   unreduced x -> [{}, {}] and [{"tp"}, {}]
//     all_reduce x, then all_slice of that     instead of two reductions
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_RESHARDPATHS_H
#define TANDEM_PASSES_STRATEGY_RESHARDPATHS_H

#include "passes/strategy/ReshardPath.h"

#include <optional>
#include <unordered_map>

namespace tandem {

class ReshardPaths {
public:
  explicit ReshardPaths(Mesh mesh) : mesh(std::move(mesh)) {}

  /// A number for `type`, the same for types spelled the same.
  int numberOf(const TensorType &type);

  /// The path between two types, or why there is none.
  const Result<ReshardPath> &get(int from, int to);
  const Result<ReshardPath> &get(const TensorType &from, const TensorType &to);

  struct Cost {
    int64_t bytes = 0; ///< On the wire, of one device; -1: there is no path.
    int64_t steps = 0; ///< Collectives.

    bool operator<(const Cost &other) const {
      return bytes != other.bytes ? bytes < other.bytes : steps < other.steps;
    }
  };
  Cost cost(int from, int to);

  struct Tree {
    Cost cost;
    /// What each target is made from: another's index, or -1 for the value.
    std::vector<int> parents;
    std::vector<int> order; ///< The targets, each behind its parent.
  };
  /// The cheapest tree over `from` and `targets`; of more than kMostTargets
  /// each is made from `from`. Nothing where one of them cannot be reached.
  std::optional<Tree> tree(int from, const std::vector<int> &targets);
  /// The same for each set of them, by its bits, the first the lowest; at most
  /// kMostTargets.
  std::vector<Cost> treeCosts(int from, const std::vector<int> &targets);
  static constexpr size_t kMostTargets = 10;

private:
  /// The cheapest tree that holds a set, with what was added last and what
  /// that was made from.
  struct Grown {
    Cost cost{-1, 0};
    int last = -1, parent = -1;
  };
  std::optional<Tree> star(int from, const std::vector<int> &targets);
  std::vector<Grown> grow(int from, const std::vector<int> &targets);

  Mesh mesh;
  std::unordered_map<std::string, int> numbers;
  std::vector<TensorType> types;
  std::unordered_map<uint64_t, Result<ReshardPath>> paths;
};

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_RESHARDPATHS_H

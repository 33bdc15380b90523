#include "passes/strategy/Dominance.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

/// A difference of sums of costs.
using Difference = __int128;

/// How the entries of a table lie: [outer][alternative of a variable][inner].
struct Slices {
  size_t outer, inner;
};

class Dominance {
public:
  Dominance(const CostTables &start, int64_t work)
      : network(start), workLeft(work), tablesOf(network.sizes.size()) {
    for (size_t t = 0; t < network.tables.size(); ++t)
      for (int v : network.tables[t].scope)
        tablesOf[v].push_back(static_cast<int>(t));
    for (int v = 0; v < network.variables(); ++v)
      for (int a = 0; a < network.sizes[v]; ++a)
        if (network.tables[v].costs[a] == kForbidden)
          forbid(v, a);
  }

  std::vector<std::vector<int>> run() {
    std::vector<int> pending(network.sizes.size());
    std::iota(pending.begin(), pending.end(), 0);
    std::vector<bool> waits(pending.size(), true);
    for (size_t next = 0; next < pending.size() && workLeft > 0; ++next) {
      int v = pending[next];
      waits[v] = false;
      if (!prune(v))
        continue;
      for (int t : tablesOf[v])
        for (int u : network.tables[t].scope)
          if (!waits[u]) {
            waits[u] = true;
            pending.push_back(u);
          }
    }
    std::vector<std::vector<int>> kept;
    for (int v = 0; v < network.variables(); ++v)
      kept.push_back(remaining(v));
    return kept;
  }

private:
  std::vector<int> remaining(int v) const {
    std::vector<int> alternatives;
    for (int a = 0; a < network.sizes[v]; ++a)
      if (network.tables[v].costs[a] != kForbidden)
        alternatives.push_back(a);
    return alternatives;
  }

  Slices slicesOf(int t, int v) const {
    const CostTable &table = network.tables[t];
    size_t inner = strideOf(table, v, network.sizes);
    return {table.costs.size() / inner / network.sizes[v], inner};
  }

  /// Calls `visit` with what `a` and `b` of `v` cost in each entry of `t`, as
  /// long as it returns true.
  template <typename Visit>
  void compare(int t, int v, int a, int b, const Visit &visit) {
    Slices slices = slicesOf(t, v);
    const std::vector<int64_t> &costs = network.tables[t].costs;
    workLeft -= static_cast<int64_t>(slices.outer * slices.inner);
    for (size_t o = 0; o < slices.outer; ++o) {
      size_t first = o * network.sizes[v] * slices.inner;
      for (size_t i = 0; i < slices.inner; ++i)
        if (!visit(costs[first + a * slices.inner + i],
                   costs[first + b * slices.inner + i]))
          return;
    }
  }

  /// Whether alternatives of `v` were left out.
  bool prune(int v) {
    bool changed = false;
    size_t left = remaining(v).size();
    for (int a = network.sizes[v]; a-- > 0 && left > 1;)
      if (network.tables[v].costs[a] != kForbidden &&
          (impossible(v, a) || dominated(v, a))) {
        forbid(v, a);
        --left;
        changed = true;
      }
    return changed;
  }

  bool impossible(int v, int a) {
    for (int t : tablesOf[v]) {
      bool allowed = false;
      compare(t, v, a, a, [&](int64_t cost, int64_t) {
        allowed = cost != kForbidden;
        return !allowed;
      });
      if (!allowed)
        return true;
    }
    return false;
  }

  bool dominated(int v, int a) {
    for (int b : remaining(v))
      if (b != a && (b < a ? neverWorse(v, a, b, 0) : neverWorse(v, a, b, -1)))
        return true;
    return false;
  }

  /// Whether `b` instead of `a` changes the cost by at most `most`, whatever
  /// the neighbours take.
  bool neverWorse(int v, int a, int b, Difference most) {
    Difference worst = 0;
    for (int t : tablesOf[v]) {
      bool found = false, allowed = true;
      Difference here = 0;
      compare(t, v, a, b, [&](int64_t costA, int64_t costB) {
        if (costA == kForbidden)
          return true;
        allowed = costB != kForbidden;
        Difference difference = Difference(costB) - costA;
        here = found ? std::max(here, difference) : difference;
        found = true;
        return allowed;
      });
      if (!allowed)
        return false;
      worst += here;
    }
    return worst <= most;
  }

  void forbid(int v, int a) {
    for (int t : tablesOf[v]) {
      Slices slices = slicesOf(t, v);
      for (size_t o = 0; o < slices.outer; ++o) {
        auto first = network.tables[t].costs.begin() +
                     (o * network.sizes[v] + a) * slices.inner;
        std::fill(first, first + slices.inner, kForbidden);
      }
    }
  }

  CostTables network; // what is left out is forbidden in every table
  int64_t workLeft;
  std::vector<std::vector<int>> tablesOf; // of each variable
};

/// Leaves of a table only the alternatives `kept`.
CostTable selected(CostTable table, const std::vector<int> &sizes,
                   const std::vector<std::vector<int>> &kept) {
  size_t inner = 1;
  for (size_t d = table.scope.size(); d-- > 0;) {
    int v = table.scope[d];
    std::vector<int64_t> costs;
    for (size_t first = 0; first < table.costs.size();
         first += inner * sizes[v])
      for (int a : kept[v]) {
        auto from = table.costs.begin() + first + a * inner;
        costs.insert(costs.end(), from, from + inner);
      }
    table.costs = std::move(costs);
    inner *= kept[v].size();
  }
  return table;
}

} // namespace

ReducedTables withoutDominated(const CostTables &network, int64_t maximumWork) {
  ReducedTables result;
  result.kept = Dominance(network, maximumWork).run();
  // Where nothing is allowed, that is to be seen.
  for (std::vector<int> &kept : result.kept)
    if (kept.empty())
      kept = {0};
  result.network.constant = network.constant;
  for (const std::vector<int> &kept : result.kept)
    result.network.sizes.push_back(static_cast<int>(kept.size()));
  for (const CostTable &table : network.tables)
    result.network.tables.push_back(
        selected(table, network.sizes, result.kept));
  return result;
}

} // namespace tandem

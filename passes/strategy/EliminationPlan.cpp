#include "passes/strategy/Elimination.h"

#include <algorithm>
#include <iterator>
#include <queue>

namespace tandem {
namespace {

/// The binary logarithm with 16 bits after the point, the same everywhere.
int64_t logarithmOf(uint64_t size) {
  int64_t whole = 0;
  while (size >> (whole + 1))
    ++whole;
  uint64_t mantissa = whole > 31 ? size >> (whole - 31) : size << (31 - whole);
  int64_t result = whole;
  for (int bit = 0; bit < 16; ++bit) {
    mantissa = (mantissa * mantissa) >> 31;
    bool carry = mantissa >> 32;
    mantissa >>= carry;
    result = 2 * result + carry;
  }
  return result;
}

/// Which variables share a table, and how large the sum of a variable's
/// tables would be.
class Neighbours {
public:
  explicit Neighbours(const std::vector<int> &sizes) : lists(sizes.size()) {
    for (int size : sizes)
      weights.push_back(logarithmOf(size));
    sums = weights;
  }

  /// Counts a table over `scope` once more (1) or once less (-1).
  void count(const std::vector<int> &scope, int change) {
    for (int v : scope)
      for (int u : scope)
        if (u != v)
          count(v, u, change);
  }

  /// The logarithm of the size of a variable's sum.
  int64_t weightOf(int v) const { return sums[v]; }

  using Neighbour = std::pair<int, int>; // variable, tables shared
  const std::vector<Neighbour> &of(int v) const { return lists[v]; }

private:
  void count(int v, int u, int change) {
    std::vector<Neighbour> &list = lists[v];
    auto at = std::lower_bound(list.begin(), list.end(), Neighbour(u, 0));
    if (at == list.end() || at->first != u) {
      at = list.insert(at, Neighbour(u, 0));
      sums[v] += weights[u];
    }
    at->second += change;
    if (at->second > 0)
      return;
    list.erase(at);
    sums[v] -= weights[u];
  }

  std::vector<std::vector<Neighbour>> lists;
  std::vector<int64_t> weights, sums;
};

class Planner {
public:
  Planner(const CostTables &network, int64_t limit, EliminationOrder order)
      : sizes(network.sizes), limit(limit), order(order),
        neighbours(network.sizes), tablesOf(sizes.size()) {
    for (const CostTable &table : network.tables)
      addTable(table.scope);
    for (int v = 0; v < network.variables(); ++v)
      enqueue(v);
    eliminated.assign(sizes.size(), false);
  }

  EliminationPlan run() {
    while (!queue.empty()) {
      auto [weight, v] = queue.top();
      queue.pop();
      if (!eliminated[v] && weight == weightOf(v))
        eliminate(v);
    }
    return std::move(plan);
  }

  std::vector<int> cutset(const std::vector<int> &preference) {
    std::vector<int> cut;
    while (!queue.empty()) {
      auto [weight, v] = queue.top();
      queue.pop();
      if (eliminated[v] || weight != weightOf(v))
        continue;
      while (!eliminated[v] && weightOf(v) > logarithmOf(limit)) {
        cut.push_back(preferred(v, preference));
        decide(cut.back());
      }
      if (!eliminated[v])
        eliminate(v);
    }
    std::sort(cut.begin(), cut.end());
    return cut;
  }

private:
  int64_t weightOf(int v) const {
    return order == EliminationOrder::Smallest ? neighbours.weightOf(v) : 0;
  }

  void enqueue(int v) { queue.push({weightOf(v), v}); }

  int addTable(const std::vector<int> &scope) {
    int id = static_cast<int>(plan.scopes.size());
    plan.scopes.push_back(scope);
    used.push_back(false);
    for (int v : scope)
      tablesOf[v].push_back(id);
    neighbours.count(scope, 1);
    return id;
  }

  int64_t entriesOf(const std::vector<int> &scope) const {
    int64_t entries = 1;
    for (int v : scope)
      if (__builtin_mul_overflow(entries, int64_t(sizes[v]), &entries))
        return INT64_MAX;
    return entries;
  }

  void eliminate(int v) {
    eliminated[v] = true;
    EliminationStep step{v, divide(liveTables(v))};
    plan.exact = plan.exact && step.parts.size() == 1;
    std::vector<int> touched;
    for (EliminationPart &part : step.parts) {
      count(part);
      for (int t : part.tables) {
        used[t] = true;
        neighbours.count(plan.scopes[t], -1);
      }
      part.scope.erase(std::find(part.scope.begin(), part.scope.end(), v));
      part.output = outputFor(part.scope);
      touched.insert(touched.end(), part.scope.begin(), part.scope.end());
      part.scope.push_back(v);
    }
    for (int u : touched)
      enqueue(u);
    plan.steps.push_back(std::move(step));
  }

  std::vector<int> liveTables(int v) const {
    std::vector<int> live;
    for (int t : tablesOf[v])
      if (!used[t])
        live.push_back(t);
    return live;
  }

  /// Of `v` and its neighbours the one with the most neighbours, each counted
  /// as often as its preference says.
  int preferred(int v, const std::vector<int> &preference) const {
    auto scoreOf = [&](int u) {
      return static_cast<int64_t>(neighbours.of(u).size()) * preference[u];
    };
    int best = v;
    for (auto [u, shared] : neighbours.of(v))
      if (scoreOf(u) > scoreOf(best))
        best = u;
    return best;
  }

  /// Takes `v` out of all tables, as if its alternative were known.
  void decide(int v) {
    eliminated[v] = true;
    for (int t : liveTables(v)) {
      std::vector<int> &scope = plan.scopes[t];
      neighbours.count(scope, -1);
      scope.erase(std::find(scope.begin(), scope.end(), v));
      neighbours.count(scope, 1);
      used[t] = scope.empty();
      for (int u : scope)
        enqueue(u);
    }
  }

  /// Large tables first, each into the first part that it fits.
  std::vector<EliminationPart> divide(std::vector<int> tables) const {
    std::stable_sort(tables.begin(), tables.end(), [&](int a, int b) {
      return entriesOf(plan.scopes[a]) > entriesOf(plan.scopes[b]);
    });
    std::vector<EliminationPart> parts;
    for (int t : tables) {
      bool placed = false;
      for (EliminationPart &part : parts)
        if ((placed = include(part, t)))
          break;
      if (!placed)
        parts.push_back({{t}, plan.scopes[t]});
    }
    return parts;
  }

  bool include(EliminationPart &part, int table) const {
    std::vector<int> scope;
    std::set_union(part.scope.begin(), part.scope.end(),
                   plan.scopes[table].begin(), plan.scopes[table].end(),
                   std::back_inserter(scope));
    if (scope.size() > part.scope.size() && entriesOf(scope) > limit)
      return false;
    part.scope = std::move(scope);
    part.tables.push_back(table);
    return true;
  }

  void count(const EliminationPart &part) {
    int64_t entries = entriesOf(part.scope), work;
    if (__builtin_mul_overflow(entries, int64_t(part.tables.size() + 1),
                               &work) ||
        work > kLargestCost - plan.work)
      work = kLargestCost - plan.work;
    plan.work += work;
  }

  /// A table over `scope` that is still to be used, or a new one.
  int outputFor(const std::vector<int> &scope) {
    if (scope.empty())
      return -1;
    int rare = *std::min_element(scope.begin(), scope.end(), [&](int a, int b) {
      return tablesOf[a].size() < tablesOf[b].size();
    });
    for (int t : tablesOf[rare])
      if (!used[t] && plan.scopes[t] == scope)
        return t;
    return addTable(scope);
  }

  const std::vector<int> &sizes;
  int64_t limit;
  EliminationOrder order;
  EliminationPlan plan;
  Neighbours neighbours;
  std::vector<std::vector<int>> tablesOf; // of a variable, used ones too
  std::vector<bool> used, eliminated;
  using Entry = std::pair<int64_t, int>; // weight, variable
  struct Later {
    bool operator()(const Entry &a, const Entry &b) const {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> queue;
};

} // namespace

EliminationPlan planElimination(const CostTables &network, int64_t maximumTable,
                                EliminationOrder order) {
  return Planner(network, maximumTable, order).run();
}

std::vector<int> cutsetOf(const CostTables &network, int64_t maximumTable,
                          const std::vector<int> &preference) {
  return Planner(network, maximumTable, EliminationOrder::Smallest)
      .cutset(preference);
}

} // namespace tandem

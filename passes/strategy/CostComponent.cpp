#include "passes/strategy/CostComponent.h"

#include "passes/strategy/Dominance.h"
#include "passes/strategy/Elimination.h"
#include "passes/strategy/LocalSearch.h"

#include <algorithm>

namespace tandem {
namespace {

/// Below this limit halving it further saves little.
constexpr int64_t kSmallestLimit = 64;

/// An exact plan if there is one, else the one with the largest tables, whose
/// work is allowed.
EliminationPlan planWithin(const CostTables &network,
                           const CostNetworkOptions &options) {
  int64_t limit = options.maximumTable;
  EliminationPlan plan = planElimination(network, limit);
  bool fits = plan.work <= options.maximumWork;
  if (fits && plan.exact)
    return plan;
  EliminationPlan other =
      planElimination(network, limit, EliminationOrder::Backward);
  if (other.exact && other.work <= options.maximumWork)
    return other;
  for (; !fits && limit > kSmallestLimit;
       fits = plan.work <= options.maximumWork)
    plan = planElimination(network, limit /= 4);
  return plan;
}

/// What is forbidden costs 1, all else nothing.
CostTables softened(CostTables network) {
  for (CostTable &table : network.tables)
    for (int64_t &cost : table.costs)
      cost = cost == kForbidden;
  network.constant = 0;
  return network;
}

/// An assignment near `start`, allowed if one is found.
std::vector<int> search(const CostTables &network, std::vector<int> start,
                        int64_t lowerBound, int64_t moves) {
  if (LocalSearch(network, start).score().forbidden) {
    CostTables soft = softened(network);
    LocalSearch repair(soft, std::move(start));
    repair.improve(moves, 0);
    start = repair.assignment();
  }
  LocalSearch search(network, std::move(start));
  search.improve(moves, lowerBound);
  return search.assignment();
}

/// As if nothing could be left out of it.
ComponentSolution solveReduced(const CostTables &network,
                               const CostNetworkOptions &options) {
  EliminationPlan plan = planWithin(network, options);
  Elimination elimination = eliminate(network, plan);
  ComponentSolution solution;
  solution.lowerBound = elimination.lowerBound;
  solution.conflict = std::move(elimination.conflict);
  solution.assignment = std::move(elimination.assignment);
  if (solution.conflict.empty() && !plan.exact)
    solution.assignment = search(network, std::move(solution.assignment),
                                 solution.lowerBound, options.moves);
  return solution;
}

/// The variables among `some`, ascending, of which no combination is allowed
/// whatever the others take; none where that is not shown.
std::vector<int> conflictAmong(const CostTables &network,
                               const std::vector<int> &some,
                               const CostNetworkOptions &options) {
  std::vector<int> inside;
  for (size_t t = 0; t < network.tables.size(); ++t) {
    const std::vector<int> &scope = network.tables[t].scope;
    if (std::includes(some.begin(), some.end(), scope.begin(), scope.end()))
      inside.push_back(static_cast<int>(t));
  }
  CostTables part = network.restrictedTo(some, {}, inside);
  EliminationPlan plan = planWithin(part, options);
  std::vector<int> conflict = eliminate(std::move(part), plan).conflict;
  for (int &v : conflict)
    v = some[v];
  return conflict;
}

/// Leaves out of `conflict` what it does not need, in ever smaller pieces.
std::vector<int> shrunk(const CostTables &network, std::vector<int> conflict,
                        const CostNetworkOptions &options) {
  size_t piece = (conflict.size() + 1) / 2;
  for (bool last = false; !last; piece = (piece + 1) / 2) {
    last = piece == 1 || piece < conflict.size() / 64; // or it takes too long
    for (size_t first = 0; first < conflict.size();) {
      std::vector<int> rest = conflict;
      size_t end = std::min(first + piece, rest.size());
      rest.erase(rest.begin() + first, rest.begin() + end);
      rest = conflictAmong(network, rest, options);
      if (rest.empty())
        first = end;
      else
        conflict = std::move(rest);
    }
  }
  return conflict;
}

} // namespace

ComponentSolution solveComponent(const CostTables &network,
                                 const CostNetworkOptions &options) {
  ReducedTables reduced = withoutDominated(network, options.maximumWork / 4);
  ComponentSolution solution = solveReduced(reduced.network, options);
  if (!solution.conflict.empty()) {
    // What was left out may be part of the reason.
    Elimination whole = eliminate(network, planWithin(network, options));
    if (!whole.conflict.empty())
      solution.conflict = shrunk(network, whole.conflict, options);
    return solution;
  }
  for (size_t v = 0; v < solution.assignment.size(); ++v)
    solution.assignment[v] = reduced.kept[v][solution.assignment[v]];
  LocalSearch last(network, std::move(solution.assignment));
  last.lowerTies();
  solution.allowed = last.score().forbidden == 0;
  solution.assignment = last.assignment();
  return solution;
}

} // namespace tandem

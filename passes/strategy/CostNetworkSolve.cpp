#include "passes/strategy/CostNetwork.h"
#include "passes/strategy/Dominance.h"
#include "passes/strategy/Elimination.h"
#include "passes/strategy/LocalSearch.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

/// What is known of the component that holds some of the variables.
struct ComponentSolution {
  std::vector<int> assignment;
  int64_t lowerBound = 0;
  std::vector<int> conflict; // not empty: nothing is allowed
  bool allowed = true;       // else nothing was found, though it may exist
};

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

ComponentSolution solveComponent(const CostTables &network,
                                 const CostNetworkOptions &options) {
  ReducedTables reduced = withoutDominated(network, options.maximumWork / 4);
  ComponentSolution solution = solveReduced(reduced.network, options);
  if (!solution.conflict.empty()) {
    // What was left out may be part of the reason.
    Elimination whole = eliminate(network, planWithin(network, options));
    if (!whole.conflict.empty())
      solution.conflict = std::move(whole.conflict);
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

/// The variables, then the tables, that hang together.
struct Component {
  std::vector<int> variables, tables; // ascending
};

std::vector<Component> componentsOf(const CostTables &network) {
  std::vector<int> parent(network.sizes.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto rootOf = [&](int v) {
    while (parent[v] != v)
      v = parent[v] = parent[parent[v]];
    return v;
  };
  for (const CostTable &table : network.tables)
    for (int v : table.scope) {
      int a = rootOf(v), b = rootOf(table.scope[0]);
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::vector<int> number(parent.size(), -1);
  std::vector<Component> components;
  for (int v = 0; v < network.variables(); ++v) {
    int root = rootOf(v);
    if (root == v) {
      number[v] = static_cast<int>(components.size());
      components.emplace_back();
    }
    components[number[root]].variables.push_back(v);
  }
  for (size_t t = 0; t < network.tables.size(); ++t)
    components[number[rootOf(network.tables[t].scope[0])]].tables.push_back(
        static_cast<int>(t));
  return components;
}

std::string namesOf(const CostNetwork &problem,
                    const std::vector<int> &variables) {
  constexpr size_t kMost = 12;
  std::string names;
  for (size_t i = 0; i < std::min(variables.size(), kMost); ++i)
    names += (i ? ", '" : "'") + problem.variables[variables[i]].name + "'";
  if (variables.size() > kMost)
    names += " and " + std::to_string(variables.size() - kMost) + " more";
  return names;
}

Status nothingAllowed(const CostNetwork &problem,
                      const std::vector<int> &variables) {
  return Status::refused("cost network: no combination is allowed of " +
                         namesOf(problem, variables));
}

/// Refuses a term that allows nothing once `decided` have one alternative.
Status checkDecided(const CostNetwork &problem, const CostTables &all,
                    const std::vector<int> &values) {
  for (const CostTable &table : all.tables)
    if (std::all_of(table.scope.begin(), table.scope.end(),
                    [&](int v) { return all.sizes[v] == 1; }) &&
        table.costs[entryOf(table, values, all.sizes)] == kForbidden)
      return nothingAllowed(problem, table.scope);
  return Status();
}

} // namespace

Result<CostNetworkSolution> solve(const CostNetwork &problem,
                                  const CostNetworkOptions &options) {
  TANDEM_TRY(problem.check());
  TANDEM_TRY(options.check());
  CostTables all = CostTables::of(problem);
  CostNetworkSolution solution;
  solution.alternatives.assign(problem.variables.size(), 0);
  TANDEM_TRY(checkDecided(problem, all, solution.alternatives));
  std::vector<int> open, every(all.tables.size());
  std::iota(every.begin(), every.end(), 0);
  for (int v = 0; v < all.variables(); ++v)
    if (all.sizes[v] > 1)
      open.push_back(v);
  CostTables network = all.restrictedTo(open, solution.alternatives, every);
  solution.lowerBound = network.constant;
  std::vector<int> none(open.size(), 0);
  for (const Component &component : componentsOf(network)) {
    ComponentSolution part = solveComponent(
        network.restrictedTo(component.variables, none, component.tables),
        options);
    auto nameIn = [&](std::vector<int> local) {
      for (int &v : local)
        v = open[component.variables[v]];
      return local;
    };
    if (!part.conflict.empty())
      return nothingAllowed(problem, nameIn(part.conflict));
    if (!part.allowed)
      return Status::refused("cost network: found no allowed combination in " +
                             std::to_string(options.moves) + " moves of " +
                             std::to_string(component.variables.size()) +
                             " variables, such as " +
                             namesOf(problem, {open[component.variables[0]]}));
    for (size_t i = 0; i < component.variables.size(); ++i)
      solution.alternatives[open[component.variables[i]]] = part.assignment[i];
    solution.lowerBound = addCosts(solution.lowerBound, part.lowerBound);
  }
  solution.cost = problem.costOf(solution.alternatives);
  solution.exact = solution.cost == solution.lowerBound;
  return solution;
}

} // namespace tandem

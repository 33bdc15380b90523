#include "passes/strategy/CostComponent.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

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

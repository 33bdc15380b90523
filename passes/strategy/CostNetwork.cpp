#include "passes/strategy/CostNetwork.h"

#include <algorithm>

namespace tandem {
namespace {

Status refuse(const std::string &message) {
  return Status::refused("cost network: " + message);
}

Status checkCost(const std::string &where, int64_t cost) {
  if (cost >= 0)
    return Status();
  return refuse(where + " costs " + std::to_string(cost) +
                ", expected at least 0");
}

Status checkVariable(const CostVariable &variable) {
  if (variable.alternatives.empty())
    return refuse("variable '" + variable.name + "' has no alternatives");
  for (const CostAlternative &alternative : variable.alternatives)
    TANDEM_TRY(checkCost("'" + alternative.name + "' of variable '" +
                             variable.name + "'",
                         alternative.cost));
  return Status();
}

/// How many combinations the variables of `term` have, or more than
/// `term.costs` where that would not fit.
size_t combinationsOf(const CostTerm &term, const CostNetwork &network) {
  size_t combinations = 1;
  for (int v : term.variables) {
    combinations *= network.variables[v].alternatives.size();
    if (combinations > term.costs.size())
      break;
  }
  return combinations;
}

Status checkTerm(const std::string &what, const CostTerm &term,
                 const CostNetwork &network) {
  if (term.variables.empty())
    return refuse(what + " is over no variables");
  int count = static_cast<int>(network.variables.size());
  for (int v : term.variables)
    if (v < 0 || v >= count)
      return refuse(what + " is over variable " + std::to_string(v) + " of " +
                    std::to_string(count));
  std::vector<int> sorted = term.variables;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return refuse(what + " is over variable '" +
                  network.variables[*twice].name + "' twice");
  if (combinationsOf(term, network) != term.costs.size())
    return refuse(what + " has " + std::to_string(term.costs.size()) +
                  " costs, expected one for each combination of its " +
                  std::to_string(term.variables.size()) + " variables");
  for (size_t i = 0; i < term.costs.size(); ++i)
    TANDEM_TRY(
        checkCost("entry " + std::to_string(i) + " of " + what, term.costs[i]));
  return Status();
}

std::string quantity(int64_t cost) {
  return cost == kForbidden ? "forbidden" : std::to_string(cost);
}

} // namespace

Status CostNetwork::check() const {
  for (const CostVariable &variable : variables)
    TANDEM_TRY(checkVariable(variable));
  for (size_t t = 0; t < terms.size(); ++t)
    TANDEM_TRY(checkTerm("term " + std::to_string(t), terms[t], *this));
  return Status();
}

int64_t CostNetwork::costOf(const std::vector<int> &alternatives) const {
  int64_t cost = 0;
  for (size_t v = 0; v < variables.size(); ++v)
    cost = addCosts(cost, variables[v].alternatives[alternatives[v]].cost);
  for (const CostTerm &term : terms) {
    size_t entry = 0;
    for (int v : term.variables)
      entry = entry * variables[v].alternatives.size() + alternatives[v];
    cost = addCosts(cost, term.costs[entry]);
  }
  return cost;
}

Status CostNetworkOptions::check() const {
  if (maximumTable < 1 || maximumWork < 1)
    return refuse("tables of at most " + std::to_string(maximumTable) +
                  " entries and " + std::to_string(maximumWork) +
                  " in all, expected at least 1");
  if (moves < 0)
    return refuse("a search of " + std::to_string(moves) +
                  " moves, expected at least 0");
  return Status();
}

Status CostNetworkSolution::verify(const CostNetwork &problem) const {
  TANDEM_TRY(problem.check());
  if (alternatives.size() != problem.variables.size())
    return refuse("assigns " + std::to_string(alternatives.size()) +
                  " variables of " + std::to_string(problem.variables.size()));
  for (size_t v = 0; v < alternatives.size(); ++v) {
    const CostVariable &variable = problem.variables[v];
    int count = static_cast<int>(variable.alternatives.size());
    if (alternatives[v] < 0 || alternatives[v] >= count)
      return refuse("variable '" + variable.name + "' takes alternative " +
                    std::to_string(alternatives[v]) + " of " +
                    std::to_string(count));
  }
  int64_t actual = problem.costOf(alternatives);
  if (actual == kForbidden)
    return refuse("the assignment is forbidden");
  if (cost != actual)
    return refuse("the assignment costs " + std::to_string(actual) +
                  ", stated " + quantity(cost));
  if (lowerBound < 0 || lowerBound > cost)
    return refuse("the lower bound " + quantity(lowerBound) +
                  " is negative or above the cost " + quantity(cost));
  if (exact && lowerBound != cost)
    return refuse("stated to be exact, but the lower bound " +
                  quantity(lowerBound) + " is not the cost " + quantity(cost));
  return Status();
}

} // namespace tandem

#include "passes/strategy/Elimination.h"

#include <algorithm>

namespace tandem {
namespace {

class Eliminator {
public:
  Eliminator(CostTables start, const EliminationPlan &plan)
      : network(std::move(start)), plan(plan) {
    for (size_t t = network.tables.size(); t < plan.scopes.size(); ++t)
      network.tables.push_back({plan.scopes[t], {}});
    for (size_t t = 0; t < network.tables.size(); ++t)
      if (culprits.empty() && allForbidden(network.tables[t].costs))
        culprits = {static_cast<int>(t)};
  }

  Elimination run() {
    Elimination result;
    for (; done < plan.steps.size() && culprits.empty(); ++done)
      eliminate(plan.steps[done]);
    if (culprits.empty()) {
      result.lowerBound = network.constant;
      result.assignment = decode();
    } else {
      result.lowerBound = kForbidden;
      result.conflict = sourcesOf(culprits);
    }
    return result;
  }

private:
  static bool allForbidden(const std::vector<int64_t> &costs) {
    return !costs.empty() &&
           *std::min_element(costs.begin(), costs.end()) == kForbidden;
  }

  size_t sizeOf(const EliminationStep &step) const {
    return network.sizes[step.variable];
  }

  void eliminate(const EliminationStep &step) {
    if (sums.size() < step.parts.size())
      sums.resize(step.parts.size());
    for (size_t p = 0; p < step.parts.size(); ++p)
      addUp(step.parts[p], sums[p]);
    if (step.parts.size() > 1)
      share(step);
    for (size_t p = 0; p < step.parts.size(); ++p)
      minimise(step, step.parts[p], sums[p]);
  }

  void addUp(const EliminationPart &part, std::vector<int64_t> &sum) const {
    size_t entries = 1;
    for (int v : part.scope)
      entries *= network.sizes[v];
    sum.assign(entries, 0);
    for (int t : part.tables)
      addTable(sum, part.scope, network.tables[t], network.sizes);
  }

  /// Gives each part the same share of what the variable's alternatives cost
  /// at least in all parts together.
  void share(const EliminationStep &step) {
    size_t size = sizeOf(step), parts = step.parts.size();
    std::vector<int64_t> total(size, 0);
    for (size_t p = 0; p < parts; ++p) {
      std::vector<int64_t> least(size, kForbidden);
      for (size_t i = 0; i < sums[p].size(); ++i)
        least[i % size] = std::min(least[i % size], sums[p][i]);
      for (size_t i = 0; i < sums[p].size(); ++i)
        if (sums[p][i] != kForbidden)
          sums[p][i] -= least[i % size];
      for (size_t a = 0; a < size; ++a)
        total[a] = addCosts(total[a], least[a]);
    }
    for (size_t p = 0; p < parts; ++p)
      for (size_t i = 0; i < sums[p].size(); ++i)
        sums[p][i] = addCosts(sums[p][i], shareOf(total[i % size], p, parts));
  }

  static int64_t shareOf(int64_t total, size_t part, size_t parts) {
    if (total == kForbidden)
      return kForbidden;
    int64_t count = static_cast<int64_t>(parts);
    return total / count + (static_cast<int64_t>(part) < total % count);
  }

  void minimise(const EliminationStep &step, const EliminationPart &part,
                const std::vector<int64_t> &sum) {
    size_t size = sizeOf(step), count = sum.size() / size;
    std::vector<int64_t> constant{network.constant};
    std::vector<int64_t> &output =
        part.output < 0 ? constant : network.tables[part.output].costs;
    output.resize(count, 0);
    for (size_t i = 0; i < count; ++i) {
      auto at = sum.begin() + i * size;
      output[i] = addCosts(output[i], *std::min_element(at, at + size));
    }
    if (culprits.empty() && allForbidden(output))
      culprits = part.output < 0 ? tablesOf(step) : std::vector{part.output};
    network.constant = constant[0];
  }

  static std::vector<int> tablesOf(const EliminationStep &step) {
    std::vector<int> tables;
    for (const EliminationPart &part : step.parts)
      tables.insert(tables.end(), part.tables.begin(), part.tables.end());
    return tables;
  }

  /// The variables that the costs of `tables` come from.
  std::vector<int> sourcesOf(const std::vector<int> &tables) const {
    std::vector<bool> source(network.tables.size(), false);
    std::vector<bool> found(network.sizes.size(), false);
    auto include = [&](int t) {
      source[t] = true;
      for (int v : network.tables[t].scope)
        found[v] = true;
    };
    std::for_each(tables.begin(), tables.end(), include);
    for (size_t s = std::min(done + 1, plan.steps.size()); s-- > 0;) {
      const std::vector<EliminationPart> &parts = plan.steps[s].parts;
      if (std::any_of(parts.begin(), parts.end(), [&](const auto &part) {
            return part.output >= 0 && source[part.output];
          }))
        for (int t : tablesOf(plan.steps[s]))
          include(t);
    }
    std::vector<int> variables;
    for (int v = 0; v < network.variables(); ++v)
      if (found[v])
        variables.push_back(v);
    return variables;
  }

  std::vector<int> decode() const {
    std::vector<int> assignment(network.sizes.size(), 0);
    for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step)
      assignment[step->variable] = bestOf(*step, assignment);
    return assignment;
  }

  /// The alternative with the fewest forbidden parts, then the lowest cost,
  /// then the lowest number, given the variables decided so far.
  int bestOf(const EliminationStep &step,
             const std::vector<int> &assignment) const {
    using Score = std::pair<int, int64_t>;
    std::vector<Score> scores(sizeOf(step), Score(0, 0));
    for (const EliminationPart &part : step.parts)
      for (int t : part.tables) {
        const CostTable &table = network.tables[t];
        size_t entry = entryOf(table, assignment, network.sizes, step.variable);
        size_t stride = strideOf(table, step.variable, network.sizes);
        for (size_t a = 0; a < scores.size(); ++a) {
          int64_t cost = table.costs[entry + a * stride];
          if (cost == kForbidden)
            ++scores[a].first;
          else
            scores[a].second = addCosts(scores[a].second, cost);
        }
      }
    return static_cast<int>(std::min_element(scores.begin(), scores.end()) -
                            scores.begin());
  }

  CostTables network;
  const EliminationPlan &plan;
  size_t done = 0;                        // steps
  std::vector<int> culprits;              // tables that allow nothing
  std::vector<std::vector<int64_t>> sums; // of a step's parts, kept for reuse
};

} // namespace

Elimination eliminate(CostTables network, const EliminationPlan &plan) {
  return Eliminator(std::move(network), plan).run();
}

} // namespace tandem

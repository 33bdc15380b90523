#include "passes/strategy/LocalSearch.h"

#include "passes/strategy/Elimination.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tandem {
namespace {

/// Blocks grow to so many variables, and to tables of so many entries.
constexpr uint64_t kLargestBlock = 1024;
constexpr int64_t kLargestTable = 4096;

void add(AssignmentScore &score, int64_t cost) {
  if (cost == kForbidden)
    ++score.forbidden;
  else
    score.cost = addCosts(score.cost, cost);
}

AssignmentScore scoreOf(const CostTables &network,
                        const std::vector<int> &values) {
  AssignmentScore total;
  add(total, network.constant);
  for (const CostTable &table : network.tables)
    add(total, table.costs[entryOf(table, values, network.sizes)]);
  return total;
}

/// The numbers below `count` that are not in `left`, both ascending.
std::vector<int> allBut(int count, const std::vector<int> &left) {
  std::vector<int> all(count), rest;
  std::iota(all.begin(), all.end(), 0);
  std::set_difference(all.begin(), all.end(), left.begin(), left.end(),
                      std::back_inserter(rest));
  return rest;
}

} // namespace

LocalSearch::LocalSearch(const CostTables &network, std::vector<int> start)
    : network(network), values(std::move(start)),
      tablesOf(network.sizes.size()) {
  for (size_t t = 0; t < network.tables.size(); ++t)
    for (int v : network.tables[t].scope)
      tablesOf[v].push_back(static_cast<int>(t));
}

AssignmentScore LocalSearch::score() const { return scoreOf(network, values); }

/// What the tables of `variable` add for each of its alternatives.
std::vector<AssignmentScore> LocalSearch::scoresOf(int variable) const {
  std::vector<AssignmentScore> scores(network.sizes[variable]);
  for (int t : tablesOf[variable]) {
    const CostTable &table = network.tables[t];
    size_t entry = entryOf(table, values, network.sizes, variable);
    size_t stride = strideOf(table, variable, network.sizes);
    for (size_t a = 0; a < scores.size(); ++a)
      add(scores[a], table.costs[entry + a * stride]);
  }
  return scores;
}

/// Whether another alternative was better.
bool LocalSearch::decide(int variable) {
  --movesLeft;
  std::vector<AssignmentScore> scores = scoresOf(variable);
  auto best = std::min_element(scores.begin(), scores.end());
  if (!(*best < scores[values[variable]]))
    return false;
  values[variable] = static_cast<int>(best - scores.begin());
  return true;
}

/// Decides the variables `pending` and, as long as something changes, their
/// neighbours.
void LocalSearch::descend(std::vector<int> pending) {
  std::vector<bool> waits(values.size(), false);
  for (int v : pending)
    waits[v] = true;
  for (size_t next = 0; next < pending.size() && movesLeft > 0; ++next) {
    int v = pending[next];
    waits[v] = false;
    if (!decide(v))
      continue;
    for (int t : tablesOf[v])
      for (int u : network.tables[t].scope) {
        if (u == v || waits[u])
          continue;
        waits[u] = true;
        pending.push_back(u);
      }
  }
}

void LocalSearch::lowerTies() {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t v = 0; v < values.size(); ++v) {
      std::vector<AssignmentScore> scores = scoresOf(static_cast<int>(v));
      int lowest = 0;
      while (scores[values[v]] < scores[lowest])
        ++lowest;
      changed |= lowest < values[v];
      values[v] = std::min(values[v], lowest);
    }
  }
}

/// A number below `below`, from the counter alone.
uint64_t LocalSearch::draw(uint64_t below) {
  uint64_t x = ++drawn * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return (x ^ (x >> 32)) % below;
}

/// Up to `size` variables that hang together, ascending.
std::vector<int> LocalSearch::blockAround(int seed, uint64_t size) {
  std::vector<int> block{seed};
  std::vector<bool> inside(values.size(), false);
  inside[seed] = true;
  for (uint64_t tries = 4 * size; block.size() < size && tries > 0; --tries) {
    const std::vector<int> &tables = tablesOf[block[draw(block.size())]];
    const std::vector<int> &scope =
        network.tables[tables[draw(tables.size())]].scope;
    int v = scope[draw(scope.size())];
    if (!inside[v])
      block.push_back(v);
    inside[v] = true;
  }
  std::sort(block.begin(), block.end());
  return block;
}

/// The tables of `block`, the other variables keeping their alternatives.
CostTables LocalSearch::conditioned(const std::vector<int> &block) const {
  std::vector<int> tables;
  for (int v : block)
    tables.insert(tables.end(), tablesOf[v].begin(), tablesOf[v].end());
  std::sort(tables.begin(), tables.end());
  tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
  return network.restrictedTo(block, values, tables);
}

/// Decides the variables of `block` together, but for those that make it too
/// wide, which keep their alternatives.
void LocalSearch::decideBlock(const std::vector<int> &block) {
  movesLeft -= static_cast<int64_t>(block.size());
  CostTables part = conditioned(block);
  std::vector<int> before, preference;
  for (int v : block) {
    before.push_back(values[v]);
    preference.push_back(1 + static_cast<int>(draw(8)));
  }
  std::vector<int> open =
      allBut(part.variables(), cutsetOf(part, kLargestTable, preference));
  std::vector<int> tables = allBut(static_cast<int>(part.tables.size()), {});
  CostTables narrow = part.restrictedTo(open, before, tables);
  // The order may differ from the cutset's, so larger tables may be needed.
  EliminationPlan plan = planElimination(narrow, 16 * kLargestTable);
  Elimination best = eliminate(std::move(narrow), plan);
  std::vector<int> after = before;
  for (size_t i = 0; i < best.assignment.size(); ++i)
    after[open[i]] = best.assignment[i];
  if (scoreOf(part, before) < scoreOf(part, after))
    return;
  for (size_t i = 0; i < block.size(); ++i)
    values[block[i]] = after[i];
}

void LocalSearch::improve(int64_t moves, int64_t lowerBound) {
  movesLeft = moves;
  std::vector<int> all(values.size());
  std::iota(all.begin(), all.end(), 0);
  descend(std::move(all));
  // Scoring all takes as long as a move for each table, so it is done once in
  // as many moves.
  int64_t interval = static_cast<int64_t>(network.tables.size());
  for (int64_t nextScore = movesLeft; movesLeft > 0;) {
    if (movesLeft <= nextScore) {
      AssignmentScore now = score();
      if (values.size() < 2 || (!now.forbidden && now.cost <= lowerBound))
        return;
      nextScore = movesLeft - interval;
    }
    uint64_t seed = draw(values.size());
    uint64_t size = std::min<uint64_t>(kLargestBlock, values.size());
    decideBlock(blockAround(static_cast<int>(seed), 2 + draw(size - 1)));
  }
}

} // namespace tandem

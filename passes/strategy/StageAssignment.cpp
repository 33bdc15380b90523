#include "passes/strategy/StageAssignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tandem {
namespace {

double boundOf(const StageProblem &problem) {
  double total =
      std::accumulate(problem.costs.begin(), problem.costs.end(), 0.0);
  return std::max(
      total / static_cast<double>(problem.stages),
      *std::max_element(problem.costs.begin(), problem.costs.end()));
}

/// Cost of the slowest stage, then the sum of squares.
using Score = std::pair<double, double>;

} // namespace

Status StageProblem::check() const {
  if (costs.empty())
    return Status::refused("stage assignment: no units to assign");
  if (stages < 1)
    return Status::refused("stage assignment: " + std::to_string(stages) +
                           " stages, expected at least 1");
  for (double cost : costs)
    if (!(cost >= 0) || std::isinf(cost))
      return Status::refused("stage assignment: a unit costs " +
                             std::to_string(cost) +
                             ", expected a finite cost of at least 0");
  return Status();
}

Status StageSolution::verify(const StageProblem &problem) const {
  TANDEM_TRY(problem.check());
  if (stageOf.size() != problem.costs.size())
    return Status::refused("stage assignment: assigns " +
                           std::to_string(stageOf.size()) + " units of " +
                           std::to_string(problem.costs.size()));
  std::vector<double> load(problem.stages, 0.0);
  for (size_t u = 0; u < stageOf.size(); ++u) {
    if (stageOf[u] < (u ? stageOf[u - 1] : 0) || stageOf[u] >= problem.stages)
      return Status::refused("stage assignment: unit " + std::to_string(u) +
                             " is on stage " + std::to_string(stageOf[u]) +
                             ", out of order or range");
    load[stageOf[u]] += problem.costs[u];
  }
  double most = *std::max_element(load.begin(), load.end());
  if (std::abs(most - slowest) > 1e-9 * (1 + most))
    return Status::refused("stage assignment: the slowest stage costs " +
                           std::to_string(most) + ", stated " +
                           std::to_string(slowest));
  if (lowerBound > slowest * (1 + 1e-9))
    return Status::refused("stage assignment: the lower bound is above the "
                           "solution");
  return Status();
}

Result<StageSolution> solve(const StageProblem &problem) {
  TANDEM_TRY(problem.check());
  size_t units = problem.costs.size();
  size_t stages = std::min<size_t>(problem.stages, units);
  std::vector<double> before(units + 1, 0.0);
  for (size_t u = 0; u < units; ++u)
    before[u + 1] = before[u] + problem.costs[u];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // best[s][u]: the first u units over the first s stages, none empty.
  std::vector<std::vector<Score>> best(
      stages + 1, std::vector<Score>(units + 1, {kInfinity, kInfinity}));
  std::vector<std::vector<size_t>> cut(stages + 1,
                                       std::vector<size_t>(units + 1, 0));
  best[0][0] = {0, 0};
  for (size_t s = 1; s <= stages; ++s)
    for (size_t u = s; u <= units; ++u)
      for (size_t c = s - 1; c < u; ++c) {
        double load = before[u] - before[c];
        Score score{std::max(best[s - 1][c].first, load),
                    best[s - 1][c].second + load * load};
        if (score < best[s][u]) {
          best[s][u] = score;
          cut[s][u] = c;
        }
      }
  StageSolution solution;
  solution.stageOf.resize(units);
  for (size_t s = stages, u = units; s > 0; u = cut[s][u], --s)
    for (size_t unit = cut[s][u]; unit < u; ++unit)
      solution.stageOf[unit] = static_cast<int64_t>(s - 1);
  solution.slowest = best[stages][units].first;
  solution.lowerBound = boundOf(problem);
  return solution;
}

} // namespace tandem

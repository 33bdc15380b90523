#include "passes/strategy/StageAssignment.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace tandem;

namespace {

using Cut = std::vector<int64_t>;

/// Calls `visit` with every way to put units in order onto stages.
template <typename Visit>
void forEachAssignment(size_t units, int64_t stages, Cut &stageOf,
                       const Visit &visit) {
  if (stageOf.size() == units)
    return visit(stageOf);
  for (int64_t s = stageOf.empty() ? 0 : stageOf.back(); s < stages; ++s) {
    stageOf.push_back(s);
    forEachAssignment(units, stages, stageOf, visit);
    stageOf.pop_back();
  }
}

std::pair<double, double> scoreOf(const StageProblem &problem,
                                  const Cut &stageOf) {
  std::vector<double> load(problem.stages, 0.0);
  for (size_t u = 0; u < stageOf.size(); ++u)
    load[stageOf[u]] += problem.costs[u];
  double most = 0, squares = 0;
  for (double l : load) {
    most = std::max(most, l);
    squares += l * l;
  }
  return {most, squares};
}

std::pair<double, double> bestByForce(const StageProblem &problem) {
  std::pair<double, double> best{INFINITY, INFINITY};
  Cut stageOf;
  forEachAssignment(
      problem.costs.size(), problem.stages, stageOf,
      [&](const Cut &cut) { best = std::min(best, scoreOf(problem, cut)); });
  return best;
}

/// Whole costs, so that sums are exact.
StageProblem randomProblem(std::mt19937 &random) {
  StageProblem problem;
  problem.stages = 1 + random() % 5;
  for (size_t units = 1 + random() % 8; units > 0; --units)
    problem.costs.push_back(random() % 12);
  return problem;
}

TEST(StageAssignment, ExampleOfTheHeader) {
  StageProblem problem{{1, 4, 4, 4, 9}, 3};
  Result<StageSolution> solution = solve(problem);
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->stageOf, (Cut{0, 0, 1, 1, 2}));
  EXPECT_EQ(solution->slowest, 9);
}

TEST(StageAssignment, IsAsGoodAsTryingAll) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    StageProblem problem = randomProblem(random);
    Result<StageSolution> solution = solve(problem);
    ASSERT_TRUE(solution.ok()) << solution.status().message();
    Status status = solution->verify(problem);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(scoreOf(problem, solution->stageOf), bestByForce(problem))
        << "trial " << trial;
    EXPECT_LE(solution->lowerBound, solution->slowest);
  }
}

TEST(StageAssignment, NoStageIsEmptyWhileUnitsAreLeft) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 100; ++trial) {
    StageProblem problem = randomProblem(random);
    Cut stageOf = solve(problem)->stageOf;
    int64_t used = std::min<int64_t>(problem.stages, stageOf.size());
    EXPECT_EQ(stageOf.back(), used - 1);
  }
}

TEST(StageAssignment, ThirtyLayersOverManyStages) {
  for (int64_t stages = 1; stages <= 40; ++stages) {
    StageProblem problem{std::vector<double>(30, 2.0), stages};
    Result<StageSolution> solution = solve(problem);
    ASSERT_TRUE(solution.ok());
    EXPECT_EQ(solution->slowest, 2.0 * std::ceil(30.0 / stages)) << stages;
  }
}

TEST(StageAssignment, ProblemsThatMakeNoSense) {
  EXPECT_EQ(solve(StageProblem{{}, 2}).status().message(),
            "stage assignment: no units to assign");
  EXPECT_EQ(solve(StageProblem{{1}, 0}).status().message(),
            "stage assignment: 0 stages, expected at least 1");
  for (double cost : {-1.0, static_cast<double>(INFINITY), std::nan("")})
    EXPECT_NE(solve(StageProblem{{1, cost}, 1})
                  .status()
                  .message()
                  .find("expected a finite cost of at least 0"),
              std::string::npos);
}

TEST(StageAssignment, WrongSolutionsAreRefused) {
  StageProblem problem{{1, 4, 4, 4, 9}, 3};
  StageSolution right = *solve(problem);
  auto messageOf = [&](auto change) {
    StageSolution wrong = right;
    change(wrong);
    return wrong.verify(problem).message();
  };
  EXPECT_EQ(messageOf([](StageSolution &s) { s.stageOf.pop_back(); }),
            "stage assignment: assigns 4 units of 5");
  EXPECT_EQ(messageOf([](StageSolution &s) { s.stageOf = {0, 1, 0, 1, 2}; }),
            "stage assignment: unit 2 is on stage 0, out of order or range");
  EXPECT_EQ(messageOf([](StageSolution &s) { s.stageOf = {0, 0, 1, 2, 3}; }),
            "stage assignment: unit 4 is on stage 3, out of order or range");
  EXPECT_EQ(messageOf([](StageSolution &s) { s.stageOf[0] = -1; }),
            "stage assignment: unit 0 is on stage -1, out of order or range");
  EXPECT_EQ(messageOf([](StageSolution &s) { s.stageOf = {0, 0, 0, 2, 2}; }),
            "stage assignment: the slowest stage costs 13.000000, stated "
            "9.000000");
  EXPECT_EQ(messageOf([](StageSolution &s) { s.lowerBound = 10; }),
            "stage assignment: the lower bound is above the solution");
}

} // namespace

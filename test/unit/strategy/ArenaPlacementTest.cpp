#include "passes/strategy/ArenaPlacement.h"

#include "gtest/gtest.h"

#include <random>

using namespace tandem;

namespace {

ArenaProblem randomProblem(std::mt19937 &random) {
  ArenaProblem problem;
  problem.alignment = int64_t(1) << random() % 8;
  for (size_t count = 1 + random() % 30; count > 0; --count) {
    int64_t first = random() % 40;
    problem.buffers.push_back({static_cast<int64_t>(random() % 5000), first,
                               first + static_cast<int64_t>(random() % 12)});
  }
  return problem;
}

/// The most bytes alive at one instruction.
int64_t mostAlive(const ArenaProblem &problem) {
  int64_t most = 0;
  for (int64_t at = 0; at < 60; ++at) {
    int64_t alive = 0;
    for (const ArenaBuffer &buffer : problem.buffers)
      if (buffer.first <= at && at <= buffer.last)
        alive += buffer.bytes;
    most = std::max(most, alive);
  }
  return most;
}

TEST(ArenaPlacement, ExampleOfTheHeader) {
  ArenaProblem problem;
  problem.buffers = {{64, 0, 1}, {128, 1, 2}, {64, 2, 3}};
  Result<ArenaSolution> solution = solve(problem);
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->peak, 192);
  EXPECT_EQ(solution->lowerBound, 192);
}

TEST(ArenaPlacement, RandomProblemsAreSolvedRightly) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    ArenaProblem problem = randomProblem(random);
    Result<ArenaSolution> solution = solve(problem);
    ASSERT_TRUE(solution.ok()) << solution.status().message();
    Status status = solution->verify(problem);
    EXPECT_TRUE(status.ok()) << status.message();
    // What no arena can undercut, found in another way.
    EXPECT_GE(solution->peak, mostAlive(problem));
    EXPECT_LE(solution->lowerBound, solution->peak);
  }
}

TEST(ArenaPlacement, BuffersThatNeverMeetShareTheirPlace) {
  ArenaProblem problem;
  for (int64_t i = 0; i < 10; ++i)
    problem.buffers.push_back({1000, 2 * i, 2 * i + 1});
  ArenaSolution solution = *solve(problem);
  EXPECT_LE(solution.peak, 1024);
  for (int64_t offset : solution.offsets)
    EXPECT_EQ(offset, 0);
}

TEST(ArenaPlacement, NothingToPlace) {
  ArenaProblem problem;
  Result<ArenaSolution> solution = solve(problem);
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->peak, 0);
  EXPECT_TRUE(solution->verify(problem).ok());
}

TEST(ArenaPlacement, ProblemsThatMakeNoSense) {
  ArenaProblem problem;
  problem.buffers = {{-1, 0, 0}};
  EXPECT_EQ(solve(problem).status().message(),
            "arena: buffer 0 has a negative size or life");
  problem.buffers = {{1, 0, 0}, {1, 3, 2}};
  EXPECT_EQ(solve(problem).status().message(),
            "arena: buffer 1 has a negative size or life");
  problem.buffers.clear();
  for (int64_t alignment : {0, -4, 48}) {
    problem.alignment = alignment;
    EXPECT_EQ(solve(problem).status().message(), "arena: alignment " +
                                                     std::to_string(alignment) +
                                                     " is no power of two");
  }
}

TEST(ArenaPlacement, WrongSolutionsAreRefused) {
  ArenaProblem problem;
  problem.buffers = {{64, 0, 1}, {128, 1, 2}, {64, 2, 3}};
  auto messageOf = [&](std::vector<int64_t> offsets, int64_t peak,
                       int64_t bound) {
    return ArenaSolution{std::move(offsets), peak, bound}
        .verify(problem)
        .message();
  };
  EXPECT_EQ(messageOf({0, 64, 0}, 192, 192), "");
  EXPECT_EQ(messageOf({0, 64}, 192, 192), "arena: places 2 buffers of 3");
  EXPECT_EQ(messageOf({0, 0, 128}, 192, 192),
            "arena: buffers 0 and 1 overlap while both are alive");
  EXPECT_EQ(messageOf({0, 64, 128}, 192, 192),
            "arena: buffers 1 and 2 overlap while both are alive");
  std::string outside = " lies outside the arena or unaligned";
  EXPECT_EQ(messageOf({0, 128, 0}, 192, 192), "arena: buffer 1" + outside);
  EXPECT_EQ(messageOf({0, 65, 0}, 256, 192), "arena: buffer 1" + outside);
  EXPECT_EQ(messageOf({-64, 64, 0}, 192, 192), "arena: buffer 0" + outside);
  EXPECT_EQ(messageOf({0, 64, 0}, 192, 256),
            "arena: the lower bound is above the peak");
}

} // namespace

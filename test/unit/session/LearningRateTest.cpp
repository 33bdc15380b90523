#include "runtime/session/LearningRate.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tandem {
namespace {

LearningRate rate(LearningRate::Schedule schedule) {
  return {schedule, 0.1, 4, 20};
}

TEST(LearningRate, GrowsInALine) {
  for (auto schedule :
       {LearningRate::Constant, LearningRate::Linear, LearningRate::Cosine}) {
    EXPECT_DOUBLE_EQ(rate(schedule).at(0), 0.025);
    EXPECT_DOUBLE_EQ(rate(schedule).at(1), 0.05);
    EXPECT_DOUBLE_EQ(rate(schedule).at(3), 0.1);
    EXPECT_DOUBLE_EQ(rate(schedule).at(4), 0.1);
  }
}

TEST(LearningRate, ThenFollowsItsSchedule) {
  EXPECT_DOUBLE_EQ(rate(LearningRate::Constant).at(19), 0.1);
  EXPECT_DOUBLE_EQ(rate(LearningRate::Constant).at(1000), 0.1);
  // Of 16 steps the eighth is half way.
  EXPECT_DOUBLE_EQ(rate(LearningRate::Linear).at(12), 0.05);
  EXPECT_DOUBLE_EQ(rate(LearningRate::Linear).at(19), 0.1 / 16);
  EXPECT_NEAR(rate(LearningRate::Cosine).at(12), 0.05, 1e-16);
  EXPECT_NEAR(rate(LearningRate::Cosine).at(8), 0.1 * (2 + std::sqrt(2)) / 4,
              1e-16);
}

TEST(LearningRate, EndsAtNothing) {
  EXPECT_DOUBLE_EQ(rate(LearningRate::Linear).at(20), 0);
  EXPECT_DOUBLE_EQ(rate(LearningRate::Linear).at(100), 0);
  EXPECT_NEAR(rate(LearningRate::Cosine).at(100), 0, 1e-16);
}

TEST(LearningRate, WarmUpMayBeAllOrNothing) {
  LearningRate none{LearningRate::Linear, 1, 0, 4};
  EXPECT_DOUBLE_EQ(none.at(0), 1);
  EXPECT_DOUBLE_EQ(none.at(3), 0.25);
  LearningRate all{LearningRate::Cosine, 1, 4, 4};
  EXPECT_DOUBLE_EQ(all.at(3), 1);
}

TEST(LearningRate, NamesAreKnown) {
  EXPECT_EQ(parseRateSchedule("constant"), LearningRate::Constant);
  EXPECT_EQ(parseRateSchedule("linear"), LearningRate::Linear);
  EXPECT_EQ(parseRateSchedule("cosine"), LearningRate::Cosine);
  EXPECT_FALSE(parseRateSchedule("cosin"));
}

} // namespace
} // namespace tandem

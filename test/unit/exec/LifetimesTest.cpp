#include "runtime/exec/Lifetimes.h"
#include "test/unit/exec/MlpSketch.h"

namespace tandem {
namespace {

std::vector<std::vector<ByteRange>> deadOf(const Plan &plan) {
  return deadAfter(plan, *plan.table().entries()->Get(0), 0);
}

/// Two maps in a row over [3, 7] floats: 84 bytes each, 64-byte steps.
class LifetimesTest : public testing::Test {
protected:
  LifetimesTest() : sketch("tp=1"), type(sketch.type({3, 7}, "[{}, {}]")) {
    sketch.entry("e");
    x = sketch.input("x", type);
    h = sketch.value(0, type);
    y = sketch.value(0, type);
  }
  void map(uint32_t from, uint32_t to, uint16_t stream = 0) {
    sketch.launch(0, "map", Mlp().relu(), {from}, {to}, Mlp::reluNumbers(),
                  {stream, "here"});
  }
  PlanSketch sketch;
  TensorType type;
  uint32_t x, h, y;
};

TEST_F(LifetimesTest, BytesDieAtTheirLastUse) {
  map(x, h);
  map(h, y);
  sketch.output("y", type, {y});
  Plan plan = sketch.finish();
  auto dead = deadOf(plan);
  ASSERT_EQ(dead.size(), 2u);
  ASSERT_EQ(dead[0].size(), 1u);
  EXPECT_EQ(dead[0][0].offset, 0u);
  EXPECT_EQ(dead[0][0].bytes, 84u);
  ASSERT_EQ(dead[1].size(), 1u);
  EXPECT_EQ(dead[1][0].offset, 128u);
}

TEST_F(LifetimesTest, AnAliasKeepsItsBytes) {
  uint32_t reshaped = sketch.alias(0, h, type);
  map(x, h);
  map(x, y);
  map(reshaped, y);
  sketch.output("y", type, {y});
  Plan plan = sketch.finish();
  auto dead = deadOf(plan);
  EXPECT_TRUE(dead[0].empty());
  ASSERT_EQ(dead[1].size(), 2u); // x, and y, which is written again
  ASSERT_EQ(dead[2].size(), 1u); // h's bytes, by its alias
  EXPECT_EQ(dead[2][0].offset, 128u);
}

TEST_F(LifetimesTest, ReusedBytesDieWhereTheyAreWrittenNext) {
  uint32_t reused = sketch.alias(0, x, type);
  map(x, h);
  map(h, reused);
  map(reused, y);
  sketch.output("y", type, {y});
  Plan plan = sketch.finish();
  auto dead = deadOf(plan);
  EXPECT_EQ(dead[0].size(), 1u);
  EXPECT_EQ(dead[1].size(), 1u);
  EXPECT_EQ(dead[2].size(), 1u);
}

TEST_F(LifetimesTest, WhatTwoStreamsTouchLives) {
  map(x, h);
  map(h, y, 1);
  sketch.output("y", type, {y});
  Plan plan = sketch.finish();
  auto dead = deadOf(plan);
  EXPECT_EQ(dead[0].size(), 1u); // x
  EXPECT_TRUE(dead[1].empty());  // h
}

} // namespace
} // namespace tandem

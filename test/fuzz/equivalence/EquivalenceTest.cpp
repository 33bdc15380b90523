//===- EquivalenceTest.cpp - The proof's own machinery --------------------===//

#include "ir/Dialect.h"
#include "test/fuzz/equivalence/Isolation.h"
#include "test/fuzz/equivalence/RandomGraph.h"
#include "test/fuzz/equivalence/Reduce.h"

#include "gtest/gtest.h"

#include <unistd.h>

using namespace tandem;
using namespace tandem::test;

namespace {

std::vector<CaseResult> runNumbers(const CheckCase &check, double deadline) {
  std::vector<CaseResult> results;
  runIsolated(
      0, 5, deadline, [](uint64_t number) { return std::to_string(number); },
      check, [&](const CaseResult &result) { results.push_back(result); });
  return results;
}

TEST(Isolation, ACrashIsAVerdictAndTheOthersGoOn) {
  auto results = runNumbers(
      [](const std::string &text) {
        if (text == "2")
          abort();
        return text == "3" ? Verdict{"run", "wrong"} : Verdict();
      },
      60);
  ASSERT_EQ(results.size(), 5u);
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(results[i].number, i);
    EXPECT_EQ(results[i].text, std::to_string(i));
    EXPECT_EQ(results[i].verdict.passed(), i != 2 && i != 3);
  }
  EXPECT_EQ(results[2].verdict.stage, "crash");
  EXPECT_EQ(results[3].verdict.message, "wrong");
}

TEST(Isolation, WhatDoesNotEndIsKilled) {
  auto results = runNumbers(
      [](const std::string &text) {
        while (text == "1")
          pause();
        return Verdict();
      },
      1);
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[1].verdict.stage, "hang");
  EXPECT_EQ(results[1].text, "1");
  EXPECT_TRUE(results[4].verdict.passed());
}

TEST(Reduce, KeepsWhatTheFailureNeeds) {
  // A failure that needs a running sum with a split operand, and nothing else.
  std::string text = R"(// seed: 5
tandem.mesh @mesh = <["x"=4, "y"=2]>
func.func @f(%a: tensor<4x6xf64> {tandem.input = "a", tandem.sharding = #tandem.sharding<@mesh, [{"x", ?}, {"y"}p1]>}, %b: tensor<6x4xf64> {tandem.input = "b"}) -> (tensor<4x4xf64> {tandem.output = "p"}, tensor<4x6xf64> {tandem.output = "q"}) {
  %0 = tandem.einsum "ab,bc->ac" %a, %b {tandem.layer = 0 : i64} : (tensor<4x6xf64>, tensor<6x4xf64>) -> tensor<4x4xf64>
  %1 = tandem.gelu %0 {tandem.layer = 0 : i64} : tensor<4x4xf64>
  %2 = tandem.reshape %a {tandem.layer = 1 : i64} : (tensor<4x6xf64>) -> tensor<4x6xf64>
  %3 = tandem.cumulative_sum %2 {dim = 1 : i64, tandem.layer = 1 : i64} : tensor<4x6xf64>
  %4 = tandem.unary neg, %3 {tandem.layer = 1 : i64} : tensor<4x6xf64>
  return %1, %4 : tensor<4x4xf64>, tensor<4x6xf64>
})";
  std::string small = reduceCase(text, [](const std::string &candidate) {
    return candidate.find("cumulative_sum") != std::string::npos &&
           candidate.find("{\"x\"") != std::string::npos;
  });
  EXPECT_EQ(small, R"(// seed: 5
module {
  tandem.mesh @mesh = <["x"=2]>
  func.func @f(%arg0: tensor<1x1xf64> {tandem.input = "a", tandem.sharding = #tandem.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1x1xf64> {tandem.output = "q"}) {
    %0 = tandem.cumulative_sum %arg0 {dim = 1 : i64} : tensor<1x1xf64>
    return %0 : tensor<1x1xf64>
  }
}

)");
}

TEST(RandomCase, IsTheSameForOneSeed) {
  EXPECT_EQ(randomCase(17), randomCase(17));
  EXPECT_NE(randomCase(17), randomCase(18));
}

TEST(RandomCase, MeetsEveryOperation) {
  std::string all;
  for (uint64_t seed = 1; seed <= 1000; ++seed)
    all += randomCase(seed);
  mlir::MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<TandemDialect>();
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    bool onTensors = name.hasInterface<ShardingRuleOpInterface>() &&
                     name.hasInterface<ReferenceOpInterface>();
    EXPECT_TRUE(!onTensors || all.find(text + " ") != std::string::npos)
        << "no maker in RandomOps.cpp emits " << text;
  }
}

} // namespace

//===- EquivalenceTest.cpp - The proof's own machinery --------------------===//

#include "ir/Dialect.h"
#include "passes/Pipelines.h"
#include "passes/propagate/ModuleGraph.h"
#include "test/fuzz/equivalence/Isolation.h"
#include "test/fuzz/equivalence/RandomGraph.h"
#include "test/fuzz/equivalence/Reduce.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringSwitch.h"

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
    // Parts of a training step; losses are drawn with them (RandomLoss.h).
    if (text == "tandem.microbatch" || text == "tandem.accumulate")
      continue;
    EXPECT_TRUE(!onTensors || all.find(text + " ") != std::string::npos)
        << "no maker in RandomOps.cpp emits " << text;
  }
}

/// Wire bytes of one device, of all collectives behind `partition-module`.
int64_t emittedBytes(mlir::ModuleOp module) {
  Mesh mesh = meshOf(module);
  int64_t bytes = 0;
  module.walk([&](mlir::Operation *op) {
    auto kind = llvm::StringSwitch<std::optional<CollectiveKind>>(
                    op->getName().stripDialect())
                    .Case("all_reduce", CollectiveKind::AllReduce)
                    .Case("all_gather", CollectiveKind::AllGather)
                    .Case("reduce_scatter", CollectiveKind::ReduceScatter)
                    .Case("all_to_all", CollectiveKind::AllToAll)
                    .Case("permute", CollectiveKind::Permute)
                    .Default(std::nullopt);
    if (!kind)
      return;
    auto axes = op->getAttrOfType<AxesAttr>("axes").getValue(mesh);
    bytes +=
        trafficOf(*kind, sizeOf(axes),
                  tensorTypeOf(op->getOperand(0).getType(), mesh).localBytes())
            .wireBytes;
  });
  return bytes;
}

/// What propagation decides that `module` moves, and what then moves.
std::pair<int64_t, int64_t> bytesOf(mlir::ModuleOp module) {
  mlir::PassManager before(module.getContext()), behind(module.getContext());
  EXPECT_EQ(addCompileSteps(before, "", "assign-stages"), "");
  EXPECT_EQ(addCompileSteps(behind, "assign-stages", "partition-module"), "");
  EXPECT_TRUE(succeeded(before.run(module)));
  ReshardPaths paths(meshOf(module));
  ModuleGraph graph(module);
  EXPECT_TRUE(succeeded(graph.build()));
  Status status = graph.decide({}, paths);
  EXPECT_TRUE(status.ok()) << status.message();
  int64_t decided = graph.operations().bytes();
  EXPECT_TRUE(succeeded(behind.run(module)));
  return {decided, emittedBytes(module)};
}

// What is decided by is what comes out, local forms included, but for the
// fractions of bytes that several collectives of one form round up.
TEST(Bytes, AreThoseOfTheDecision) {
  mlir::MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<TandemDialect, mlir::func::FuncDialect>();
  mlir::ScopedDiagnosticHandler silent(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(randomCase(seed), &context);
    ASSERT_TRUE(module);
    auto [decided, emitted] = bytesOf(*module);
    EXPECT_GE(emitted, decided);
    EXPECT_LE(emitted, decided + 2);
  }
}

} // namespace

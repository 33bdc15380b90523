// What is made again is what was made, to the bit: random losses on random
// meshes, evaluated on all ranks before and after.

#include "passes/Pipelines.h"
#include "passes/pipeline/RecomputePolicy.h"
#include "test/fuzz/equivalence/RandomGraph.h"
#include "test/fuzz/equivalence/RandomLoss.h"

#include "ir/reference/Interpreter.h"
#include "ir/reference/RandomInputs.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

RecomputePolicy policyOf(const std::string &text) {
  Result<RecomputePolicy> policy = RecomputePolicy::parse(text);
  EXPECT_TRUE(policy.ok()) << text;
  return policy.ok() ? *policy : RecomputePolicy();
}

TEST(RecomputePolicy, ReadsNamesAndLayers) {
  EXPECT_EQ(policyOf("none"), RecomputePolicy());
  EXPECT_EQ(policyOf("selective"), (RecomputePolicy{true, false, {}}));
  EXPECT_EQ(policyOf("full"), (RecomputePolicy{false, true, {}}));
  EXPECT_EQ(policyOf("7"), (RecomputePolicy{false, false, {7}}));
  EXPECT_EQ(policyOf("0,2,5-7"),
            (RecomputePolicy{false, false, {0, 2, 5, 6, 7}}));
}

TEST(RecomputePolicy, RefusesOtherTexts) {
  for (const char *text : {"", "all", "0,", ",1", "3-2", "1-", "-1", "1 2",
                           "1-2-3", "99999999999999999999", "0-9999999"})
    EXPECT_FALSE(RecomputePolicy::parse(text).ok()) << text;
}

class Comparison {
public:
  Comparison() {
    context.disableMultithreading();
    context.loadDialect<TandemDialect, func::FuncDialect>();
  }

  void checkCase(uint64_t seed) {
    auto module = parseSourceString<ModuleOp>(randomCase(seed), &context);
    ASSERT_TRUE(module);
    // What goes to other stages is another pass's business.
    if (meshOf(*module).sizeOf("pp") > 1 ||
        !makeLoss(*module, seed, static_cast<int64_t>(seed % 4)))
      return;
    NamedTensors inputs =
        randomInputs(module->lookupSymbol<func::FuncOp>("f"), seed);
    ASSERT_TRUE(run(*module, "", "combine-collectives"));
    auto before = evaluateEntry(*module, "f", inputs);
    ASSERT_TRUE(succeeded(before));
    for (const char *policy : {"none", "selective", "full", "0"}) {
      SCOPED_TRACE(policy);
      OwningOpRef<ModuleOp> again(module->clone());
      if (std::string(policy) != "0" || headOf(*again) > 0)
        (*again)->setAttr("tandem.recompute",
                          StringAttr::get(&context, policy));
      ASSERT_TRUE(run(*again, "combine-collectives", "verify-local"));
      expectSame(*before, evaluateEntry(*again, "f", inputs));
      again->walk([&](Operation *op) {
        clones[policy] += op->hasAttr(TandemDialect::kRecomputed);
      });
    }
  }

  std::map<std::string, int> clones; ///< By policy.
  MLIRContext context;

private:
  bool run(ModuleOp module, const char *from, const char *to) {
    PassManager passes(&context);
    EXPECT_EQ(addCompileSteps(passes, from, to), "");
    return succeeded(passes.run(module));
  }

  static int64_t headOf(ModuleOp module) {
    int64_t head = 0;
    module.walk(
        [&](Operation *op) { head = std::max(head, layerOf(op).value_or(0)); });
    return head;
  }

  static void expectSame(const NamedTensors &before,
                         const FailureOr<NamedTensors> &after) {
    ASSERT_TRUE(succeeded(after));
    ASSERT_EQ(before.size(), after->size());
    for (const auto &[name, tensor] : before) {
      const std::vector<double> &a = tensor.data();
      const std::vector<double> &b = after->at(name).data();
      ASSERT_EQ(a.size(), b.size());
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0)
          << name;
    }
  }
};

TEST(Recompute, GivesTheSameBits) {
  Comparison comparison;
  for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    comparison.checkCase(seed);
  }
  EXPECT_GE(comparison.clones["none"], 20); // gathered parameters
  EXPECT_GE(comparison.clones["selective"], comparison.clones["none"]);
  EXPECT_GE(comparison.clones["0"], 100);
  EXPECT_GT(comparison.clones["full"], comparison.clones["0"]);
}

} // namespace

#include "runtime/plan/LivePeak.h"
#include "SmallPlans.h"
#include "runtime/plan/MemoryLimit.h"
#include "runtime/plan/Verify.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

Plan planOf(const fb::PlanT &native) {
  Result<Plan> plan = Plan::fromNative(native);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return std::move(*plan);
}

/// `128 input 'x'`, a line for each tensor.
std::vector<std::string> linesOf(const LivePeak &peak) {
  std::vector<std::string> lines;
  for (const LiveTensor &tensor : peak.tensors)
    lines.push_back(std::to_string(tensor.bytes) + " " + tensor.name + ": " +
                    tensor.why);
  return lines;
}

TEST(LivePeak, OfTheMlp) {
  // x and h, 128 bytes each; one of them dies at every further instruction.
  LivePeak peak = livePeak(planOf(test::mlpPlan()), 0);
  EXPECT_EQ(peak.at,
            "entry 'forward', pp 0, instruction 0 (einsum) at mlp.c_fc");
  EXPECT_EQ(peak.arenaBytes, 256u);
  EXPECT_EQ(linesOf(peak),
            std::vector<std::string>(
                {"256 parameter 'w1': ", "256 parameter 'w2': ",
                 "128 einsum #0 at mlp.c_fc: for gelu #1 at mlp.act",
                 "128 input 'x': for einsum #0 at mlp.c_fc"}));
}

TEST(LivePeak, NamesTheLargest) {
  LivePeak peak = livePeak(planOf(test::mlpPlan()), 0);
  EXPECT_EQ(peak.largest(3),
            "256 B parameter 'w1', 256 B parameter 'w2', 128 B einsum #0 at "
            "mlp.c_fc (for gelu #1 at mlp.act), and 128 B in 1 others");
  EXPECT_EQ(peak.largest(0), "768 B in 4 others");
}

TEST(LivePeak, OutputsLiveToTheEnd) {
  // %2 and %3 live when both are added to %4, an output; %0 has died.
  LivePeak peak = livePeak(planOf(test::twoStreamPlan()), 0);
  bool found = false;
  for (const LiveTensor &tensor : peak.tensors)
    found |= tensor.why == "an output";
  EXPECT_TRUE(found) << peak.largest(9);
}

TEST(MemoryLimit, ARankTakesItsArenaFromAPageOn) {
  Plan plan = planOf(test::mlpPlan());
  EXPECT_EQ(persistentBytes(plan, 0), 4096u); // 512 bytes of parameters.
  EXPECT_EQ(arenaBytes(plan, 0), 4096u + 256u);
}

TEST(MemoryLimit, SaysByHowMuchAndForWhat) {
  Plan plan = planOf(test::mlpPlan());
  EXPECT_TRUE(checkMemoryLimit(plan, 0, {}).ok());
  EXPECT_TRUE(checkMemoryLimit(plan, 4352, {}).ok());
  EXPECT_TRUE(checkMemoryLimit(plan, 4452, {100}).ok());
  EXPECT_EQ(
      checkMemoryLimit(plan, 4400, {100}).message(),
      "pp 0 needs 4452 bytes (parameters 512 bytes, state 0 bytes, arena 256 "
      "bytes, workspace 100 bytes), allowed are 4400 bytes: 52 too many; most "
      "lives at entry 'forward', pp 0, instruction 0 (einsum) at mlp.c_fc: "
      "256 B parameter 'w1', 256 B parameter 'w2', 128 B einsum #0 at "
      "mlp.c_fc (for gelu #1 at mlp.act), 128 B input 'x' (for einsum #0 at "
      "mlp.c_fc); compile with a smaller --max-seq, --batch or --dtype, with "
      "--recompute or --zero for training, or for more ranks");
}

} // namespace
} // namespace tandem

#include "runtime/plan/Inspect.h"
#include "SmallPlans.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using nlohmann::json;

json inspected(const fb::PlanT &native) {
  Result<Plan> plan = Plan::fromNative(native);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return json::parse(inspectJson(*plan));
}

TEST(Inspect, JsonOfTheMlp) {
  json root = inspected(test::mlpPlan());
  EXPECT_EQ(root["mesh"], json({{"tp", 2}}));
  EXPECT_EQ(root["ranks"], 2);
  EXPECT_EQ(root["stages"], 1);
  EXPECT_EQ(root["facts"], json({{"batch", "1"}, {"max_seq", "4"}}));
  EXPECT_EQ(root["memory"], json::array({{{"parameters", 512},
                                          {"state", 0},
                                          {"slots", 0},
                                          {"arena_peak", 256},
                                          {"arena_lower_bound", 256},
                                          {"peak", 4096 + 256}}}));
  EXPECT_EQ(root["node_ranks"], 8);
  json entry = root["entries"][0];
  EXPECT_EQ(entry["name"], "forward");
  EXPECT_EQ(entry["flops"], 2048);
  EXPECT_EQ(entry["flops_unsharded"], 2048);
  EXPECT_EQ(entry["compute"], 1);
  EXPECT_EQ(entry["inputs"][0]["name"], "x");
  EXPECT_EQ(entry["inputs"][0]["dtype"], "f32");
  EXPECT_EQ(entry["outputs"][0]["shape"], json({4, 8}));
  // 2 (n-1)/n of 4 x 8 x 4 bytes.
  EXPECT_EQ(entry["collectives"], json::array({{{"op", "all_reduce"},
                                                {"axes", {"tp"}},
                                                {"stage", 0},
                                                {"count", 1},
                                                {"bytes", 128},
                                                {"wire_bytes", 128},
                                                {"cause", "einsum"},
                                                {"location", "mlp.c_proj"}}}));
  EXPECT_EQ(entry["links"], json::array({{{"axes", {"tp"}},
                                          {"link", "in_node"},
                                          {"rank_bytes", 128},
                                          {"all_bytes", 256}}}));
  EXPECT_FALSE(entry.contains("bubble"));
}

TEST(Inspect, ComputeCountsWhatIsDoneTwice) {
  fb::PlanT native = test::mlpPlan();
  native.entries[0]->flops = 2048 + 512;
  EXPECT_EQ(inspected(native)["entries"][0]["compute"], 1.25);
  Result<Plan> plan = Plan::fromNative(native);
  ASSERT_TRUE(plan.ok());
  EXPECT_NE(inspectText(*plan).find("compute  1.25 x of unsharded: 2.56 K "
                                    "flops on all ranks, 2.05 K unsharded"),
            std::string::npos);
  // What has no products replicates none.
  native.entries[0]->flops = native.entries[0]->flops_unsharded = 0;
  EXPECT_EQ(inspected(native)["entries"][0]["compute"], 1);
}

TEST(Inspect, JsonOfTwoStages) {
  json root = inspected(test::twoStagePlan());
  EXPECT_EQ(root["mesh"], json({{"pp", 2}, {"tp", 2}}));
  EXPECT_EQ(root["memory"].size(), 2u);
  json rows = root["entries"][0]["collectives"];
  std::vector<std::string> found;
  for (const json &row : rows)
    found.push_back(row["op"].get<std::string>() + " " + row["axes"].dump() +
                    " " + row["stage"].dump() + " " + row["wire_bytes"].dump());
  EXPECT_EQ(found,
            std::vector<std::string>(
                {"send [\"pp\"] 0 64", "broadcast [\"pp\",\"tp\"] 0 4",
                 "all_gather [\"tp\"] 1 64", "broadcast [\"pp\",\"tp\"] 1 4"}));
}

TEST(Inspect, EqualCollectivesAreOneRow) {
  fb::PlanT native = test::mlpPlan();
  fb::ProgramT &program = *native.entries[0]->programs[0];
  program.instructions.push_back(program.instructions.back());
  program.instructions.back().mutate_location(kNone);
  json rows = inspected(native)["entries"][0]["collectives"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["count"], 2);
  EXPECT_EQ(rows[0]["location"], "mlp.c_proj");
}

TEST(Inspect, SurvivesNamesThatAreNoText) {
  fb::PlanT native = test::mlpPlan();
  native.model = "\xff\xfe";
  EXPECT_EQ(inspected(native)["model"], "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Inspect, ASendWithoutStages) {
  fb::PlanT native = test::mlpPlan();
  native.entries[0]->programs[0]->instructions[3].mutate_op(fb::Opcode::Send);
  native.entries[0]->programs[0]->instructions[3].mutate_target(0);
  EXPECT_EQ(inspected(native)["entries"][0]["collectives"][0]["axes"],
            json::array());
}

TEST(Inspect, TextNamesWhatThePlanHolds) {
  Result<Plan> plan = Plan::fromNative(test::mlpPlan());
  ASSERT_TRUE(plan.ok());
  std::string text = inspectText(*plan);
  for (const char *expected :
       {"mesh       tp=2: 2 ranks, 1 stage\n", "2 parameters, 0 states",
        "entry forward\n", "  inputs   x f32[4x8]\n",
        "    all_reduce     tp     0      1       128 B       128 B  einsum, "
        "at "
        "mlp.c_proj\n"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n"
                                                      << text;
  EXPECT_EQ(text.find("#0"), std::string::npos);
  InspectOptions all;
  all.instructions = true;
  text = inspectText(*plan, all);
  EXPECT_NE(text.find("#3    all_reduce(%5) -> %6"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter w2"), std::string::npos) << text;
}

TEST(Inspect, Bytes) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1024), "1.0 KiB");
  EXPECT_EQ(bytesText(1536), "1.5 KiB");
  EXPECT_EQ(bytesText(uint64_t(1) << 20), "1.0 MiB");
  EXPECT_EQ(bytesText((uint64_t(1) << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytesText(uint64_t(3) << 40), "3.0 TiB");
}

} // namespace
} // namespace tandem

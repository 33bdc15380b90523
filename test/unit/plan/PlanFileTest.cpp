#include "SmallPlans.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tandem {
namespace {

using test::mlpPlan;
using test::twoStagePlan;

class PlanFile : public ::testing::Test {
protected:
  PlanFile() : path(::testing::TempDir() + "plan" + std::to_string(getpid())) {}
  ~PlanFile() override { unlink(path.c_str()); }
  std::string refusal(std::vector<uint8_t> bytes) {
    Result<Plan> plan = Plan::loadBytes(std::move(bytes));
    return plan.ok() ? "accepted" : plan.status().message();
  }
  std::string path;
};

TEST_F(PlanFile, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(Plan::save(mlpPlan(), path).ok());
  Result<Plan> plan = Plan::load(path);
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(plan->mesh().toString(), "tp=2");
  EXPECT_EQ(plan->numRanks(), 2);
  EXPECT_EQ(plan->stages(), 1u);
  const fb::Entry *entry = plan->entry("forward");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(plan->entry("backward"), nullptr);
  const fb::Program &program = *entry->programs()->Get(0);
  ASSERT_EQ(program.instructions()->size(), 4u);
  const fb::Instruction &product = *program.instructions()->Get(2);
  EXPECT_STREQ(plan->kernel(product.target()), "einsum");
  EXPECT_EQ(plan->rule(product.rule()).toString(),
            "(*[i, j], *[j, k]) -> ([i, k]) {i=4, j=16 reduction, k=8}");
  const fb::Value &partial = plan->argument(program, product, 2);
  EXPECT_EQ(plan->type(partial.type()).toString(plan->mesh()),
            "f32[4x8] [{}, {}], unreduced={\"tp\"}");
  const fb::Instruction &reduce = *program.instructions()->Get(3);
  EXPECT_EQ(plan->axisList(reduce.axes()), AxisList({{"tp", 1, 2}}));
  EXPECT_STREQ(plan->string(reduce.location()), "mlp.c_proj");
}

TEST_F(PlanFile, FactsAreSortedAndReadByName) {
  Result<Plan> plan = Plan::fromNative(mlpPlan());
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(plan->table().facts()->Get(0)->str(), "batch=1");
  EXPECT_EQ(plan->numberFact("max_seq"), 4);
  EXPECT_EQ(plan->fact("max"), std::nullopt);
  EXPECT_EQ(plan->numberFact("vocab_size"), std::nullopt);
}

TEST_F(PlanFile, SameContentSameBytes) {
  std::vector<uint8_t> bytes = Plan::serialize(twoStagePlan());
  EXPECT_EQ(bytes, Plan::serialize(twoStagePlan()));
  EXPECT_EQ(bytes.size() % 4096, 0u);
  Result<Plan> plan = Plan::loadBytes(bytes);
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  std::unique_ptr<fb::PlanT> native(plan->table().UnPack());
  EXPECT_EQ(bytes, Plan::serialize(*native));
}

TEST_F(PlanFile, StagesOfRanks) {
  Result<Plan> plan = Plan::fromNative(twoStagePlan());
  ASSERT_TRUE(plan.ok()) << plan.status().toString();
  EXPECT_EQ(plan->stageOf(1), 0u);
  EXPECT_EQ(plan->stageOf(2), 1u);
  EXPECT_EQ(plan->rankOfStage(1), 2);
}

TEST_F(PlanFile, SaysWhyAFileIsNoPlan) {
  EXPECT_NE(Plan::load(path).status().message().find("cannot open '" + path),
            std::string::npos);
  std::ofstream(path) << "hello";
  EXPECT_EQ(Plan::load(path).status().message(),
            "'" + path +
                "': not a plan: no identifier 'TNDM'; a plan is written by "
                "'tandem compile'");
  EXPECT_EQ(
      Plan::load(::testing::TempDir()).status().message(),
      "cannot read '" + ::testing::TempDir() +
          "': it is a folder; expected a plan, which 'tandem compile' writes");
}

TEST_F(PlanFile, RefusesCutAndFlippedFiles) {
  std::vector<uint8_t> bytes = Plan::serialize(mlpPlan());
  std::vector<uint8_t> cut(bytes.begin(), bytes.end() - 1);
  std::vector<uint8_t> longer = bytes;
  longer.resize(bytes.size() + 1);
  EXPECT_EQ(
      refusal(longer).rfind("the plan is cut or has something behind it", 0),
      0u);
  EXPECT_EQ(refusal(cut).rfind("the plan is cut", 0), 0u);
  size_t size = 4 + bytes[0] + 256u * bytes[1];
  for (size_t at = 12; at < size; at += 7) {
    std::vector<uint8_t> flipped = bytes;
    flipped[at] ^= 0x10;
    EXPECT_EQ(refusal(flipped).rfind("the plan is damaged", 0), 0u) << at;
  }
}

TEST_F(PlanFile, SurvivesAnyFlipWithoutAHash) {
  std::vector<uint8_t> bytes = Plan::serialize(twoStagePlan());
  std::fill(bytes.end() - 8, bytes.end(), 0);
  EXPECT_EQ(refusal(bytes), "accepted");
  for (size_t at = 0; at < bytes.size(); ++at)
    for (uint8_t bit : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> flipped = bytes;
      flipped[at] ^= bit;
      refusal(flipped); // Whatever it says, it neither crashes nor hangs.
    }
}

TEST_F(PlanFile, NamesBothSchemaVersions) {
  fb::PlanT plan = mlpPlan();
  plan.schema = 7;
  EXPECT_EQ(refusal(Plan::serialize(plan)),
            "the plan has schema version 7, this runtime reads 2; compile the "
            "model again");
}

TEST_F(PlanFile, DevicesAndFoldersAreNotReplaced) {
  EXPECT_EQ(Plan::save(mlpPlan(), "/dev/null").message(),
            "cannot write '/dev/null': it is no regular file");
  EXPECT_EQ(Plan::save(mlpPlan(), "/tmp").message(),
            "cannot write '/tmp': it is a folder");
}

TEST_F(PlanFile, LeavesNothingBehindWhereItCannotWrite) {
  Status status = Plan::save(mlpPlan(), "/proc/nowhere/plan");
  EXPECT_EQ(status.message().rfind("cannot write '/proc/nowhere/plan.tmp", 0),
            0u)
      << status.message();
}

} // namespace
} // namespace tandem

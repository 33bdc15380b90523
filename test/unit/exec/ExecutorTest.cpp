#include "test/unit/exec/LocalRanks.h"
#include "test/unit/exec/MlpSketch.h"

#include <cstdlib>

namespace tandem {
namespace {

void fillMlp(LocalRanks &ranks) {
  for (auto &executor : ranks.executors) {
    if (auto w1 = executor->parameter(0))
      fillPiece(*w1, Mlp::weight1);
    if (auto w2 = executor->parameter(1))
      fillPiece(*w2, Mlp::weight2);
    if (auto x = executor->input(0, 0))
      fillPiece(*x, Mlp::input);
  }
}

void expectY(const Mlp &mlp, LocalRanks &ranks) {
  int64_t seen = 0;
  for (auto &executor : ranks.executors)
    if (auto y = executor->output(0, 0))
      forEachValid(*y, [&](std::byte *at, const std::vector<int64_t> &index) {
        float got;
        std::memcpy(&got, at, sizeof got);
        EXPECT_NEAR(got, mlp.expectedY(index), 1e-5);
        ++seen;
      });
  EXPECT_GT(seen, 0);
}

void runMlp(const Mlp &mlp, const Plan &plan, uint64_t seed) {
  LocalRanks ranks(plan, seed);
  for (const Status &status : ranks.created)
    ASSERT_TRUE(status.ok()) << status.toString();
  for (int step = 0; step < 3; ++step) {
    fillMlp(ranks);
    for (const Status &status : ranks.run(0))
      ASSERT_TRUE(status.ok()) << status.toString();
    expectY(mlp, ranks);
  }
}

/// Each on the cpu device and on chaos, by its seed.
class ExecutorTest : public testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Cpu, ExecutorTest, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Chaos, ExecutorTest, testing::Range<uint64_t>(1, 4));
INSTANTIATE_TEST_SUITE_P(MoreChaos, ExecutorTest,
                         testing::Range<uint64_t>(4, 21));

TEST_P(ExecutorTest, TensorParallelEqualsFloat64) {
  for (int64_t tp : {1, 2, 3, 5})
    runMlp(Mlp(), Mlp().tensorParallel(tp), GetParam());
}

TEST_P(ExecutorTest, MoreRanksThanColumns) {
  Mlp mlp;
  mlp.f = 3;
  runMlp(mlp, mlp.tensorParallel(5), GetParam());
}

TEST_P(ExecutorTest, PipelineEqualsFloat64) {
  runMlp(Mlp(), Mlp().pipelined(), GetParam());
}

/// Two streams: y = relu(x) on stream 1, between events.
TEST_P(ExecutorTest, EventsOrderStreams) {
  Mlp mlp;
  PlanSketch sketch("tp=1");
  TensorType type = sketch.type({mlp.b, mlp.f}, "[{}, {}]");
  sketch.entry("forward");
  uint32_t x = sketch.input("x", type), h = sketch.value(0, type);
  uint32_t g = sketch.value(0, type), y = sketch.value(0, type);
  std::vector<int64_t> relu = Mlp::reluNumbers();
  sketch.launch(0, "map", mlp.relu(), {x}, {h}, relu);
  sketch.order(0, fb::Opcode::Record, 0, 0);
  sketch.order(0, fb::Opcode::Wait, 1, 0);
  sketch.launch(0, "map", mlp.relu(), {h}, {g}, relu, {1, "aside"});
  sketch.order(0, fb::Opcode::Record, 1, 1);
  sketch.order(0, fb::Opcode::Wait, 0, 1);
  sketch.launch(0, "map", mlp.relu(), {g}, {y}, relu);
  sketch.output("y", type, {y});
  Plan plan = sketch.finish();
  LocalRanks ranks(plan, GetParam());
  ASSERT_TRUE(ranks.created[0].ok()) << ranks.created[0].toString();
  fillPiece(*ranks.executors[0]->input(0, 0), Mlp::input);
  ASSERT_TRUE(ranks.run(0)[0].ok());
  forEachValid(*ranks.executors[0]->output(0, 0),
               [&](std::byte *at, const std::vector<int64_t> &index) {
                 float got;
                 std::memcpy(&got, at, sizeof got);
                 EXPECT_EQ(
                     got, static_cast<float>(std::max(Mlp::input(index), 0.0)));
               });
}

TEST_P(ExecutorTest, StatesLiveFromStepToStep) {
  // s = s + x, in place.
  PlanSketch sketch("tp=2");
  TensorType type = sketch.type({5}, "[{\"tp\"}]");
  uint32_t s = sketch.state("s", type);
  sketch.entry("add");
  uint32_t x = sketch.input("x", type);
  uint32_t in = sketch.useState(0, s), out = sketch.useState(0, s);
  sketch.launch(0, "map", RuleBuilder("i,i->i").build({{5}, {5}}, {{5}}),
                {in, x}, {out}, {kMapInput, 0, kMapInput, 1, kMapAdd, 0});
  sketch.output("s", type, {out});
  Plan plan = sketch.finish();
  LocalRanks ranks(plan, GetParam());
  auto index = [](const std::vector<int64_t> &i) {
    return static_cast<double>(i[0] + 1);
  };
  auto expect = [&](double times) {
    for (auto &executor : ranks.executors) {
      fillPiece(*executor->input(0, 0), index);
      ASSERT_TRUE(executor->run(0).ok());
      forEachValid(*executor->state(0),
                   [&](std::byte *at, const std::vector<int64_t> &i) {
                     float got;
                     std::memcpy(&got, at, sizeof got);
                     EXPECT_EQ(got, times * index(i));
                   });
    }
  };
  expect(1);
  expect(2);
  for (auto &executor : ranks.executors)
    executor->clearStates();
  expect(1);
}

/// Sets TANDEM_FAULT while it lives.
struct PlantedFault {
  explicit PlantedFault(const char *text) { setenv("TANDEM_FAULT", text, 1); }
  ~PlantedFault() { unsetenv("TANDEM_FAULT"); }
};

TEST_P(ExecutorTest, AFailureNamesItsPlaceOnAllRanks) {
  PlantedFault fault("1:einsum:2:fail");
  Plan plan = Mlp().tensorParallel(3);
  LocalRanks ranks(plan, GetParam());
  fillMlp(ranks);
  for (const Status &status : ranks.run(0)) {
    EXPECT_EQ(status.code(), StatusCode::RankFailed);
    EXPECT_EQ(status.rank, 1) << status.toString();
    EXPECT_EQ(status.instruction, "einsum #2");
    EXPECT_EQ(status.location, "mlp.down");
  }
  // Nothing runs any more, and nothing hangs.
  for (const Status &status : ranks.run(0))
    EXPECT_FALSE(status.ok());
}

TEST_P(ExecutorTest, AFailureBeforeASendEndsTheReceiver) {
  PlantedFault fault("0:send:1:fail");
  Plan plan = Mlp().pipelined();
  LocalRanks ranks(plan, GetParam());
  fillMlp(ranks);
  for (const Status &status : ranks.run(0)) {
    EXPECT_EQ(status.rank, 0) << status.toString();
    EXPECT_EQ(status.instruction, "send #2");
  }
}

TEST_P(ExecutorTest, UnknownKernelIsRefusedByName) {
  Mlp mlp;
  PlanSketch sketch("tp=1");
  TensorType type = sketch.type({mlp.b, mlp.f}, "[{}, {}]");
  sketch.entry("forward");
  uint32_t x = sketch.input("x", type), y = sketch.value(0, type);
  sketch.launch(0, "frobnicate", mlp.relu(), {x}, {y});
  sketch.output("y", type, {y});
  Plan plan = sketch.finish();
  LocalRanks ranks(plan, GetParam());
  EXPECT_NE(ranks.created[0].message().find("no kernel 'frobnicate'"),
            std::string::npos)
      << ranks.created[0].message();
}

} // namespace
} // namespace tandem

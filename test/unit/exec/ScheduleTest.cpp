// A step of training over microbatches in flight, on ranks that are threads.

#include "runtime/plan/Verify.h"
#include "test/unit/exec/LocalRanks.h"
#include "test/unit/exec/PipelineSketch.h"

#include <cstdlib>
#include <map>

namespace tandem {
namespace {

using Order = Pipeline::Order;

void fill(LocalRanks &ranks, bool weights) {
  for (auto &executor : ranks.executors) {
    for (uint32_t p : {0, 1})
      if (auto weight = executor->parameter(p); weight && weights)
        fillPiece(*weight, p == 0 ? Pipeline::weight1 : Pipeline::weight2);
    if (auto x = executor->input(0, 0))
      fillPiece(*x, [&](const std::vector<int64_t> &i) {
        return Pipeline::input(i[0], i[1], i[2]);
      });
  }
}

void expectWeight(const TensorArg &weight, const std::vector<double> &values) {
  size_t at = 0;
  forEachValid(weight, [&](std::byte *element, const std::vector<int64_t> &) {
    float got;
    std::memcpy(&got, element, sizeof got);
    EXPECT_NEAR(got, values[at], 1e-4 * (1 + std::abs(values[at])));
    ++at;
  });
  EXPECT_EQ(at, values.size());
}

void train(const Pipeline &pipeline, uint64_t seed) {
  Plan plan = pipeline.sketch().finish();
  Status proof = verify(plan);
  ASSERT_TRUE(proof.ok()) << proof.message();
  LocalRanks ranks(plan, seed);
  for (const Status &status : ranks.created)
    ASSERT_TRUE(status.ok()) << status.toString();
  for (int step = 1; step <= 2; ++step) {
    fill(ranks, /*weights=*/step == 1);
    for (const Status &status : ranks.run(0))
      ASSERT_TRUE(status.ok()) << status.toString();
    Pipeline::Weights weights = pipeline.expected(step);
    expectWeight(*ranks.executors[0]->parameter(0), weights.w1);
    expectWeight(*ranks.executors[1]->parameter(1), weights.w2);
  }
}

/// Each on the cpu device and on chaos, by its seed.
class ScheduleTest : public testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Cpu, ScheduleTest, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Chaos, ScheduleTest, testing::Range<uint64_t>(1, 4));
INSTANTIATE_TEST_SUITE_P(MoreChaos, ScheduleTest,
                         testing::Range<uint64_t>(4, 21));

TEST_P(ScheduleTest, TrainsAsFloat64Does) {
  for (uint32_t microbatches : {1, 3, 4}) {
    Pipeline pipeline;
    pipeline.microbatches = microbatches;
    train(pipeline, GetParam());
    pipeline.order = Order::GPipe;
    train(pipeline, GetParam());
    pipeline.streams = false;
    train(pipeline, GetParam());
  }
}

/// Stage 0's sends, on stream 1.
std::vector<TraceEvent> sendsOf(const LocalRanks &ranks) {
  std::vector<TraceEvent> sends;
  for (const TraceEvent &event : ranks.executors[0]->traced())
    if (event.stream == 1)
      sends.push_back(event);
  return sends;
}

TEST_P(ScheduleTest, ATraceHoldsWhatRan) {
  Pipeline pipeline;
  Plan plan = pipeline.sketch().finish();
  LocalRanks ranks(plan, GetParam());
  auto run = [&](size_t events) {
    ranks.executors[0]->trace(events);
    fill(ranks, true);
    for (const Status &status : ranks.run(0))
      ASSERT_TRUE(status.ok()) << status.toString();
  };
  run(100);
  std::map<int, std::vector<TraceEvent>> streams;
  for (const TraceEvent &event : ranks.executors[0]->traced())
    streams[event.stream].push_back(event);
  // Zeros and update once; five launches and two transfers a microbatch.
  EXPECT_EQ(streams[0].size(), 2u + 5 * 3);
  EXPECT_EQ(streams[1].size(), 3u);
  EXPECT_EQ(streams[2].size(), 3u);
  for (const auto &[stream, events] : streams)
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_LE(events[i].begin, events[i].end);
      EXPECT_LE(events[i ? i - 1 : 0].begin, events[i].begin);
    }
  for (uint32_t m = 0; m < 3; ++m) {
    const TraceEvent &send = streams[1][m];
    EXPECT_STREQ(send.op, "send");
    EXPECT_STREQ(send.location, "boundary");
    EXPECT_EQ(send.microbatch, m);
    EXPECT_EQ(send.bytes, pipeline.b * pipeline.f * 4);
    EXPECT_FALSE(send.launch);
  }
  run(2); // Only the last two.
  ASSERT_EQ(sendsOf(ranks).size(), 2u);
  EXPECT_EQ(sendsOf(ranks)[0].microbatch, 1u);
  EXPECT_EQ(sendsOf(ranks)[0].step, 1);
  run(0);
  EXPECT_TRUE(ranks.executors[0]->traced().empty());
}

TEST_P(ScheduleTest, AFailureNamesItsMicrobatch) {
  // On stage 1 the einsums of microbatch 0 are the first three.
  setenv("TANDEM_FAULT", "1:einsum:5:fail", 1);
  Pipeline pipeline;
  Plan plan = pipeline.sketch().finish();
  LocalRanks ranks(plan, GetParam());
  fill(ranks, true);
  for (const Status &status : ranks.run(0)) {
    EXPECT_EQ(status.rank, 1) << status.toString();
    EXPECT_EQ(status.instruction, "einsum #8 of microbatch 1");
    EXPECT_EQ(status.location, "bo,bf->of");
  }
  unsetenv("TANDEM_FAULT");
}

} // namespace
} // namespace tandem

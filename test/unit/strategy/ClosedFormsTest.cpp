#include "passes/strategy/ClosedForms.h"
#include "passes/strategy/ScheduleTimeline.h"

#include "gtest/gtest.h"

using namespace tandem;

namespace {

struct Case {
  ScheduleRequest request;
  StageTimes times;
};

std::string nameOf(const Case &c) {
  return c.request.name + " p=" + std::to_string(c.request.coordinates) +
         " v=" + std::to_string(c.request.virtualStages) +
         " m=" + std::to_string(c.request.microbatches) +
         " F=" + std::to_string(c.times.forward) +
         " B=" + std::to_string(c.times.backward) +
         " W=" + std::to_string(c.times.weight);
}

/// Whole times, so that sums are exact.
const StageTimes kTimes[] = {{1, 1, 1}, {2, 2, 1},  {1, 2, 1}, {3, 5, 2},
                             {2, 1, 3}, {10, 9, 9}, {4, 4, 4}, {1, 2, 0}};

/// Calls `visit` with all cases of up to 7 coordinates and four times as many
/// microbatches.
template <typename Visit> void forEachCase(const Visit &visit) {
  for (const std::string &name : scheduleNames()) {
    std::vector<int64_t> stages{0};
    if (name == "interleaved")
      stages = {2, 3, 4};
    for (int64_t p = 1; p <= 7; ++p)
      for (int64_t m = 1; m <= 4 * p + 2; ++m)
        for (int64_t v : stages)
          for (const StageTimes &times : kTimes)
            visit(Case{{name, p, m, v}, times});
  }
}

TEST(ClosedForms, EqualTheVerifiedSchedule) {
  int held = 0, cases = 0;
  forEachCase([&](const Case &c) {
    Result<PipelineSchedule> made = makeSchedule(c.request);
    ASSERT_TRUE(made.ok()) << nameOf(c) << ": " << made.status().message();
    ScheduleProblem &problem = made->problem;
    problem.times.assign(problem.stages(), c.times);
    Result<ClosedForm> form = closedFormOf(c.request, c.times);
    ASSERT_TRUE(form.ok());
    EXPECT_EQ(mostInFlight(problem, made->schedule), form->inFlight)
        << nameOf(c);
    ++cases;
    if (!form->idle)
      return;
    ++held;
    Timeline timeline = simulate(problem, made->schedule);
    for (int64_t p = 0; p < problem.coordinates; ++p)
      EXPECT_EQ(timeline.idleOf(p), *form->idle) << nameOf(c);
    UniformPipeline pipeline{problem.coordinates,
                             problem.stages() / problem.coordinates,
                             problem.microbatches, c.times};
    EXPECT_NEAR(timeline.bubble(), *form->bubble(pipeline), 1e-12);
    EXPECT_GE(timeline.makespan, timeline.lowerBound - 1e-9) << nameOf(c);
  });
  // gpipe, 1f1b and interleaved for all times; those of zero bubble for some.
  EXPECT_GT(held, cases * 3 / 4);
}

/// 1f1b's share is (p-1)/(m+p-1) whatever the times, and v stages a coordinate
/// divide what is waited by v (arXiv:2104.04473, section 2.2).
TEST(ClosedForms, MegatronsFractions) {
  for (int64_t p : {2, 4, 8})
    for (int64_t m : {p, 2 * p, 8 * p})
      for (int64_t v : {1, 2, 4}) {
        ScheduleRequest request{v == 1 ? "1f1b" : "interleaved", p, m,
                                v == 1 ? 0 : v};
        auto made = makeSchedule(request);
        ASSERT_TRUE(made.ok());
        double share = simulate(made->problem, made->schedule).bubble();
        double wait = static_cast<double>(p - 1) / static_cast<double>(v * m);
        EXPECT_NEAR(share, wait / (1 + wait), 1e-12);
      }
}

/// Activations of interleaved beside 1f1b's p: 1 + (p-1)/(p v) times as many
/// (arXiv:2205.05198), with stages of 1/v.
TEST(ClosedForms, MegatronsActivations) {
  for (int64_t p : {2, 4, 8})
    for (int64_t v : {2, 3, 4}) {
      auto made = makeSchedule({"interleaved", p, 4 * p, v});
      ASSERT_TRUE(made.ok());
      EXPECT_EQ(mostInFlight(made->problem, made->schedule)[0], v * p + p - 1);
    }
}

/// zb-h1 waits a third of what 1f1b does with equal times and keeps no more
/// than its first coordinate; zb-v keeps as much and leaves no coordinate
/// waiting between its own first and last action.
TEST(ClosedForms, ZeroBubble) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 2 * p; m <= 4 * p; ++m) {
      auto h1 = makeSchedule({"zb-h1", p, m, 0});
      auto flush = makeSchedule({"1f1b", p, m, 0});
      auto wave = makeSchedule({"zb-v", p, m, 0});
      ASSERT_TRUE(h1.ok() && flush.ok() && wave.ok());
      EXPECT_EQ(3 * simulate(h1->problem, h1->schedule).idleOf(0),
                simulate(flush->problem, flush->schedule).idleOf(0));
      EXPECT_EQ(h1->schedule.slots, std::vector<int64_t>(p, p));
      Timeline timeline = simulate(wave->problem, wave->schedule);
      for (int64_t c = 0; c < p; ++c) {
        EXPECT_EQ(timeline.idleWithin(c), 0) << p << " " << m << " " << c;
        EXPECT_EQ(wave->schedule.slots[c] + wave->schedule.slots[2 * p - 1 - c],
                  2 * p);
      }
    }
}

/// No order takes less than gpipe and 1f1b with stages that do not split.
TEST(ClosedForms, BoundIsReached) {
  for (const char *name : {"gpipe", "1f1b"})
    for (int64_t p = 1; p <= 5; ++p)
      for (int64_t m = 1; m <= 10; ++m) {
        auto made = makeSchedule({name, p, m, 0});
        Timeline timeline = simulate(made->problem, made->schedule);
        EXPECT_EQ(timeline.makespan, timeline.lowerBound);
      }
}

} // namespace

#include "passes/strategy/NamedSchedules.h"
#include "passes/strategy/ScheduleText.h"
#include "passes/strategy/ScheduleTimeline.h"

#include "gtest/gtest.h"

using namespace tandem;

namespace {

constexpr ActionKind F = ActionKind::Forward, B = ActionKind::Backward,
                     W = ActionKind::Weight;

PipelineSchedule parsed(const std::string &text) {
  Result<PipelineSchedule> made = parseSchedule(text, "table");
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : PipelineSchedule();
}

const char *const kSmall = "0: F0 F1 B0 F2 B1 B2\n"
                           "1: F0 B0 F1 B1 F2 B2\n";

/// What `verify` says of the small schedule after `change`.
template <typename Change> std::string messageOf(const Change &change) {
  PipelineSchedule wrong = parsed(kSmall);
  change(wrong.problem, wrong.schedule);
  return wrong.schedule.verify(wrong.problem).message();
}

TEST(PipelineSchedule, ExampleOfTheHeader) {
  Result<PipelineSchedule> made = makeSchedule({"1f1b", 2, 3, 0});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(printSchedule(*made), kSmall);
  EXPECT_EQ(made->schedule.slots, (std::vector<int64_t>{2, 1}));
  Timeline timeline = simulate(made->problem, made->schedule);
  EXPECT_EQ(timeline.makespan, 12);
  EXPECT_DOUBLE_EQ(timeline.bubble(), 0.25);
  EXPECT_EQ(timeline.lowerBound, 12);
}

TEST(PipelineSchedule, NeedsOfActions) {
  ScheduleProblem problem = parsed(kSmall).problem;
  EXPECT_TRUE(problem.needsOf({F, 0, 2, 0}).empty());
  auto needs = problem.needsOf({B, 0, 2, 0});
  ASSERT_EQ(needs.size(), 2u);
  EXPECT_EQ(problem.nameOf(needs[0]), "F2");
  EXPECT_EQ(needs[1].stage, 1);
  EXPECT_EQ(problem.needsOf({B, 1, 2, 0}).size(), 1u);
  EXPECT_EQ(problem.nameOf(problem.needsOf({W, 1, 2, 0})[0]), "B2");
}

TEST(PipelineSchedule, WrongActionsAreRefused) {
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions.pop_back(); }),
            "schedule: orders of 1 coordinates, expected of 2");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.slots.pop_back(); }),
            "schedule: slots of 1 stages, expected of 2");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[0][0].stage = 2; }),
            "schedule: coordinate 0: stage 2 of 2");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[0][0].stage = 1; }),
            "schedule: coordinate 0: F0: stage 1 lies on coordinate 1");
  EXPECT_EQ(
      messageOf([](auto &, Schedule &s) { s.actions[0][0].microbatch = 3; }),
      "schedule: coordinate 0: F3: there are microbatches 0 to 2");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[0][2].kind = W; }),
            "schedule: coordinate 0: W0: backward is not split, so that there "
            "are no weight actions");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[1][0].slot = 1; }),
            "schedule: coordinate 1: F0: slot 1 of a stage with 1");
  EXPECT_EQ(
      messageOf([](auto &, Schedule &s) { s.actions[0][1].microbatch = 0; }),
      "schedule: coordinate 0: F0 is there twice");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[0].pop_back(); }),
            "schedule: coordinate 0: B2 is missing");
  EXPECT_EQ(messageOf([](ScheduleProblem &p, Schedule &) { p.split = true; }),
            "schedule: coordinate 0: W0 is missing");
}

TEST(PipelineSchedule, WrongSlotsAreRefused) {
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[0][1].slot = 0; }),
            "schedule: coordinate 0: F1 takes slot 0, which F0 still holds");
  EXPECT_EQ(messageOf([](auto &, Schedule &s) { s.actions[0][2].slot = 1; }),
            "schedule: coordinate 0: B0 has slot 1, F0 another");
  EXPECT_EQ(messageOf([](ScheduleProblem &p, Schedule &) { p.slotLimit = 1; }),
            "schedule: coordinate 0: 2 slots, the limit is 1");
}

TEST(PipelineSchedule, WrongOrdersAreRefused) {
  EXPECT_EQ(messageOf([](auto &, Schedule &s) {
              std::swap(s.actions[1][0], s.actions[1][1]);
            }),
            "schedule: coordinate 1: B0 comes before F0");
  // Each order is one alone: coordinate 0 wants B0 back before it gives F1,
  // coordinate 1 wants F1 before it gives B0.
  EXPECT_EQ(
      parseSchedule("0: F0 B0 F1 B1\n1: F0 F1 B0 B1\n", "f").status().message(),
      "f:1: deadlock: B0 of coordinate 0 waits for B0 of coordinate 1, "
      "which is behind F1; F1 of coordinate 1 waits for F1 of coordinate "
      "0, which is behind B0");
  EXPECT_EQ(
      parseSchedule("0: F0 F1 B0 B1\n1: F1 F0 B0 B1\n", "f").status().message(),
      "f:2: F0 needs F0 of coordinate 0, sent before F1, which F1 needs "
      "earlier; values come in the order in which they are sent");
}

TEST(PipelineSchedule, ProblemsThatMakeNoSense) {
  auto checkOf = [](auto change) {
    ScheduleProblem problem = parsed(kSmall).problem;
    change(problem);
    return problem.check().message();
  };
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.microbatches = 0; }),
            "schedule: 2 coordinates and 0 microbatches, expected at least 1 "
            "of each");
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.microbatches = 1 << 24; }),
            "schedule: 2 stages and 16777216 microbatches, expected at most "
            "16777216 multiplied");
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.coordinateOf[1] = 2; }),
            "schedule: stage 1 lies on coordinate 2 of 2");
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.coordinateOf[1] = 0; }),
            "schedule: coordinate 1 holds no stage");
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.slotLimit = -1; }),
            "schedule: a limit of -1 slots, expected at least 0");
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.times.resize(1); }),
            "schedule: times of 1 stages, expected of 2");
  EXPECT_EQ(checkOf([](ScheduleProblem &p) { p.transfer = -1; }),
            "schedule: an action or transfer takes -1.000000, expected a "
            "finite time of at least 0");
}

TEST(PipelineSchedule, SlotsAreAsFewAsAreInFlight) {
  for (const std::string &name : scheduleNames())
    for (int64_t p = 1; p <= 5; ++p)
      for (int64_t m = 1; m <= 12; ++m) {
        Result<PipelineSchedule> made = makeSchedule({name, p, m, 0});
        ASSERT_TRUE(made.ok()) << made.status().message();
        if (made->problem.stages() > p)
          continue;
        EXPECT_EQ(made->schedule.slots,
                  mostInFlight(made->problem, made->schedule))
            << name << " " << p << " " << m;
      }
}

TEST(PipelineSchedule, NamesAndNumbersThatAreWrong) {
  auto messageOf = [](const ScheduleRequest &request) {
    return makeSchedule(request).status().message();
  };
  EXPECT_EQ(messageOf({"1f1", 2, 2, 0}),
            "unknown schedule '1f1'; known are: gpipe, 1f1b, interleaved, "
            "zb-h1, zb-v; did you mean '1f1b'?");
  EXPECT_EQ(messageOf({"gpipe", 0, 2, 0}),
            "schedule gpipe: 0 stages and 2 microbatches, expected at least 1 "
            "of each");
  EXPECT_EQ(messageOf({"gpipe", int64_t(1) << 40, int64_t(1) << 40, 0}),
            "schedule gpipe: expected at most 16777216 microbatches of all "
            "stages together");
  EXPECT_EQ(messageOf({"gpipe", 2, 2, 2}),
            "schedule gpipe has 1 virtual stages a coordinate, got 2; "
            "interleaved takes any number from 2");
  EXPECT_EQ(messageOf({"interleaved", 2, 2, 1}),
            "schedule interleaved has at least 2 virtual stages a coordinate, "
            "got 1; 1f1b has 1");
}

} // namespace

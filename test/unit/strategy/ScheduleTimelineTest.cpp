#include "passes/strategy/ScheduleTimeline.h"
#include "passes/strategy/NamedSchedules.h"
#include "passes/strategy/ScheduleText.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace tandem;

namespace {

PipelineSchedule timed(PipelineSchedule made, const StageTimes &times,
                       double transfer) {
  made.problem.times.assign(made.problem.stages(), times);
  made.problem.transfer = transfer;
  return made;
}

/// By hand: forward 2, backward 3 + 1, transfer 1.
TEST(ScheduleTimeline, TwoStagesByHand) {
  PipelineSchedule made = timed(
      *parseSchedule("0: F0 F1 B0 B1\n1: F0 B0 F1 B1\n", "f"), {2, 3, 1}, 1);
  Timeline timeline = simulate(made.problem, made.schedule);
  auto starts = [&](int64_t c) {
    std::vector<double> list;
    for (const TimedAction &action : timeline.actions[c])
      list.push_back(action.start);
    return list;
  };
  EXPECT_EQ(starts(0), (std::vector<double>{0, 2, 10, 16}));
  EXPECT_EQ(starts(1), (std::vector<double>{3, 5, 9, 11}));
  EXPECT_EQ(timeline.makespan, 20);
  EXPECT_EQ(timeline.busy, (std::vector<double>{12, 12}));
  EXPECT_EQ(timeline.idleOf(1), 8);
  EXPECT_EQ(timeline.idleWithin(1), 0);
  EXPECT_EQ(timeline.idleWithin(0), 8);
  EXPECT_DOUBLE_EQ(timeline.bubble(), 0.4);
  // Coordinate 1: 3 before it, 12, and 1 + 4 behind.
  EXPECT_EQ(timeline.lowerBound, 20);
}

TEST(ScheduleTimeline, StagesOfOneCoordinateHandOverAtOnce) {
  PipelineSchedule made =
      timed(*parseSchedule("0: F0.0 F0.1 B0.1 B0.0\n", "f"), {1, 1, 1}, 5);
  EXPECT_EQ(simulate(made.problem, made.schedule).makespan, 6);
}

TEST(ScheduleTimeline, NoTimeAtAll) {
  PipelineSchedule made = timed(*makeSchedule({"1f1b", 2, 2, 0}), {0, 0, 0}, 0);
  Timeline timeline = simulate(made.problem, made.schedule);
  EXPECT_EQ(timeline.makespan, 0);
  EXPECT_EQ(timeline.bubble(), 0);
}

/// All orders of two coordinates with two microbatches: none beats the bound,
/// and the best of them is known.
TEST(ScheduleTimeline, BoundHoldsForAllOrders) {
  ScheduleProblem problem;
  problem.coordinates = problem.microbatches = 2;
  problem.coordinateOf = {0, 1};
  problem.times = {{1, 1, 1}, {3, 2, 1}};
  std::vector<std::vector<ActionList>> orders(2);
  for (int64_t stage = 0; stage < 2; ++stage) {
    std::vector<int> sequence{0, 1, 2, 3};
    do {
      ActionList list;
      for (int i : sequence)
        list.push_back({static_cast<ActionKind>(i % 2), stage, i / 2, 0});
      orders[stage].push_back(list);
    } while (std::next_permutation(sequence.begin(), sequence.end()));
  }
  double best = 1e9;
  for (const ActionList &first : orders[0])
    for (const ActionList &second : orders[1]) {
      Schedule schedule = assignSlots(problem, {first, second});
      if (!schedule.verify(problem).ok())
        continue;
      Timeline timeline = simulate(problem, schedule);
      EXPECT_GE(timeline.makespan, timeline.lowerBound);
      best = std::min(best, timeline.makespan);
    }
  // 1 until the second can begin, its 2 x 6, and the first's backward of 2.
  EXPECT_EQ(best, 15);
}

} // namespace

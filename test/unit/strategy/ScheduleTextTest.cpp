#include "passes/strategy/ScheduleText.h"
#include "passes/strategy/NamedSchedules.h"

#include "gtest/gtest.h"

using namespace tandem;

namespace {

std::string messageOf(const std::string &text) {
  Result<PipelineSchedule> read = parseSchedule(text, "f");
  return read.ok() ? "read" : read.status().message();
}

TEST(ScheduleText, RoundTripOfAllSchedules) {
  for (const std::string &name : scheduleNames())
    for (int64_t p = 1; p <= 5; ++p)
      for (int64_t m : {1, 2, 5, 8, 11}) {
        Result<PipelineSchedule> made = makeSchedule({name, p, m, 0});
        ASSERT_TRUE(made.ok());
        std::string text = printSchedule(*made);
        Result<PipelineSchedule> read = parseSchedule(text, name);
        ASSERT_TRUE(read.ok()) << text << read.status().message();
        EXPECT_EQ(printSchedule(*read), text);
        EXPECT_EQ(read->problem.coordinateOf, made->problem.coordinateOf);
        EXPECT_EQ(read->problem.split, made->problem.split);
        EXPECT_EQ(read->problem.microbatches, m);
        EXPECT_EQ(read->schedule.slots, made->schedule.slots);
      }
}

TEST(ScheduleText, CommentsBlanksAndLongLines) {
  Result<PipelineSchedule> read = parseSchedule("# two coordinates\r\n"
                                                "\n"
                                                "0:F0 F1  # warm up\n"
                                                "\tB0\n"
                                                "   # nothing\n"
                                                "  B1\n"
                                                "1: F0 B0 F1 B1",
                                                "f");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(printSchedule(*read), "0: F0 F1 B0 B1\n1: F0 B0 F1 B1\n");
}

TEST(ScheduleText, WordsThatAreNoActions) {
  for (const char *word : {"X0", "F", "0", "F-1", "F0.", "F0.x", "F0.1.2", "f0",
                           "F0,", "F99999999999999999999", "F 0"})
    EXPECT_EQ(
        messageOf(std::string("0: F0\n  ") + word)
            .find("f:2: expected an action such as F0, B2 or W1.3 (forward, "
                  "backward or weight, the microbatch, the stage), got '"),
        0u)
        << word;
  EXPECT_EQ(messageOf("0: F0 B0 F2000000 B1").find("f:1: expected an action"),
            0u);
}

TEST(ScheduleText, CoordinatesThatAreNone) {
  EXPECT_EQ(messageOf(""),
            "f:1: no coordinate; expected lines such as '0: F0 B0'");
  EXPECT_EQ(messageOf("F0 B0\n"),
            "f:1: expected coordinate '0:', got 'F0'; coordinates stand in "
            "their order, a line that begins with a blank goes on with the one "
            "above");
  EXPECT_EQ(messageOf("0: F0 B0\n2: F0 B0\n").substr(0, 43),
            "f:2: expected coordinate '1:', got '2:'; co");
  EXPECT_EQ(messageOf("  F0 B0\n").substr(0, 40),
            "f:1: expected coordinate '0:', got 'F0';");
  EXPECT_EQ(messageOf("0: F0 B0\n1:\n"), "f:2: coordinate 1 has no actions");
}

TEST(ScheduleText, StagesThatDoNotFit) {
  EXPECT_EQ(messageOf("0: F0.0 B0.0\n1: F0.1 B0.1 F0.0"),
            "f:2: stage 0 is on coordinate 1 and on coordinate 0");
  EXPECT_EQ(messageOf("0: F0 B0 F0.2 B0.2\n"),
            "f:1: stage 1 has no actions, but stage 2 has");
}

TEST(ScheduleText, FaultsAreNamedWithTheirLine) {
  EXPECT_EQ(messageOf("0: F0 F1\n  B1 F1 B0\n"), "f:2: F1 is there twice");
  EXPECT_EQ(messageOf("0: F0 F1 B0\n\n1: F0 B0 F1 B1\n"), "f:1: B1 is missing");
  EXPECT_EQ(messageOf("0: F0 B0 W0\n1: F0 B0\n"), "f:2: W0 is missing");
  EXPECT_EQ(messageOf("0: B0 F0"), "f:1: B0 comes before F0");
  EXPECT_EQ(messageOf("0: F0.1 B0.1\n  F0.0 B0.0\n"),
            "f:1: deadlock: F0.1 of coordinate 0 waits for F0.0 of coordinate "
            "0, which is behind F0.1");
}

TEST(ScheduleText, SlotsAreAssigned) {
  Result<PipelineSchedule> read =
      parseSchedule("0: F0 F1 B0 W0 F2 B1 W1 B2 W2\n", "f");
  ASSERT_TRUE(read.ok());
  std::vector<int64_t> slots;
  for (const ScheduleAction &action : read->schedule.actions[0])
    slots.push_back(action.slot);
  EXPECT_EQ(slots, (std::vector<int64_t>{0, 1, 0, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(read->schedule.slots, std::vector<int64_t>{2});
}

} // namespace

//===- FaultsTest.cpp - Processes that die, stop and stall ----------------===//
//
// Every trial is a world under mpirun in which one rank breaks at a random
// moment; all others must leave in time with code 3 and say why. The moments
// come from a seed that is printed; TANDEM_FAULT_SEED sets it, and
// TANDEM_FAULT_TRIALS the number of trials of each kind.
//
//===----------------------------------------------------------------------===//

#include "FaultTrial.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace tandem;

namespace {

int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

struct Faults : ::testing::Test {
  void SetUp() override {
    if (!haveMpirun())
      GTEST_SKIP() << "mpirun is not installed";
    seed = setting("TANDEM_FAULT_SEED", int(std::random_device{}() % 100000));
    RecordProperty("seed", seed);
    random.seed(unsigned(seed));
  }

  int upTo(int limit) { return int(random() % unsigned(limit)); }
  void waitForAMoment() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + upTo(200)));
  }

  /// All but `victim` have left with 3 within `seconds` of the fault, and each
  /// has said a line that names the victim, itself and where both were.
  void expectSurvivorsLeft(FaultTrial &trial, int ranks, int victim,
                           double seconds) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", rank " +
                 std::to_string(victim) + " of " + std::to_string(ranks) +
                 ", output:\n" + trial.output());
    ASSERT_TRUE(trial.waitForEnd(seconds + 8)) << "mpirun did not end";
    const std::string output = trial.output();
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == victim)
        continue;
      EXPECT_EQ(trial.codeOf(rank), 3) << "rank " << rank << "\n" << output;
      EXPECT_LE(trial.endOf(rank), seconds) << "rank " << rank;
      EXPECT_GE(trial.endOf(rank), 0) << "rank " << rank;
      expectLine(output, rank, victim);
    }
    EXPECT_TRUE(trial.leftBehind().empty());
  }

  static void expectLine(const std::string &output, int rank, int victim) {
    const std::string own = "rank " + std::to_string(rank) + " was at ";
    size_t at = output.find(own);
    ASSERT_NE(at, std::string::npos) << own << " is not in\n" << output;
    size_t begin = output.rfind('\n', at) + 1;
    std::string line = output.substr(begin, output.find('\n', at) - begin);
    EXPECT_EQ(line.rfind("tandem: error: ", 0), 0u) << line;
    EXPECT_NE(line.find("rank " + std::to_string(victim)), std::string::npos)
        << line;
    // The victim's instruction and place, then the survivor's own.
    EXPECT_NE(line.find("instruction "), std::string::npos) << line;
    EXPECT_NE(line.find(" #", line.find(own)), std::string::npos) << line;
    EXPECT_NE(line.find("(", line.find(own)), std::string::npos) << line;
  }

  int seed = 0;
  std::mt19937 random;
};

TEST_F(Faults, AKilledRankEndsAll) {
  for (int i = setting("TANDEM_FAULT_TRIALS", 2); i-- > 0;) {
    int ranks = 2 + upTo(3), victim = upTo(ranks);
    FaultTrial trial(ranks, 10);
    ASSERT_TRUE(trial.waitUntilRunning()) << trial.output();
    waitForAMoment();
    trial.signal(victim, SIGKILL);
    expectSurvivorsLeft(trial, ranks, victim, 5);
  }
}

TEST_F(Faults, AStoppedRankEndsAll) {
  for (int i = setting("TANDEM_FAULT_TRIALS", 1); i-- > 0;) {
    int ranks = 2 + upTo(3), victim = upTo(ranks);
    FaultTrial trial(ranks, 10);
    ASSERT_TRUE(trial.waitUntilRunning()) << trial.output();
    waitForAMoment();
    trial.signal(victim, SIGSTOP);
    expectSurvivorsLeft(trial, ranks, victim, 5);
    // Woken by mpirun, it found itself given up and left without a word.
    EXPECT_EQ(trial.output().find("rank " + std::to_string(victim) + " was at"),
              std::string::npos)
        << trial.output();
  }
}

TEST_F(Faults, ARankThatStopsBrieflyGoesOn) {
  FaultTrial trial(3, 10);
  ASSERT_TRUE(trial.waitUntilRunning()) << trial.output();
  waitForAMoment();
  trial.signal(1, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  trial.signal(1, SIGCONT);
  EXPECT_FALSE(trial.waitForEnd(1)) << trial.output();
  EXPECT_EQ(trial.output(), "");
  trial.signal(1, SIGKILL);
  expectSurvivorsLeft(trial, 3, 1, 5);
}

TEST_F(Faults, AFrozenThreadEndsAllAfterTheDeadline) {
  for (int i = setting("TANDEM_FAULT_TRIALS", 1); i-- > 0;) {
    int ranks = 2 + upTo(3), victim = upTo(ranks);
    FaultTrial trial(ranks, 1);
    ASSERT_TRUE(trial.waitUntilRunning()) << trial.output();
    waitForAMoment();
    if (!trial.freezeThread(victim))
      GTEST_SKIP() << "ptrace is not allowed here";
    expectSurvivorsLeft(trial, ranks, victim, 1 + 5);
    EXPECT_NE(trial.output().find("rank " + std::to_string(victim) + " stalls"),
              std::string::npos)
        << trial.output();
  }
}

TEST_F(Faults, ATerminatedWorldSaysSo) {
  FaultTrial trial(3, 10);
  ASSERT_TRUE(trial.waitUntilRunning()) << trial.output();
  for (int rank = 0; rank < 3; ++rank)
    trial.signal(rank, SIGTERM);
  ASSERT_TRUE(trial.waitForEnd(8));
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(trial.codeOf(rank), 130) << trial.output();
  EXPECT_NE(trial.output().find("SIGTERM"), std::string::npos);
}

struct Breakdown {
  const char *kind;
  int victimsCode;
  const char *words;
};

class OwnFaults : public Faults,
                  public ::testing::WithParamInterface<Breakdown> {};

TEST_P(OwnFaults, EndAll) {
  const Breakdown &broken = GetParam();
  FaultTrial trial(3, 2, broken.kind);
  ASSERT_TRUE(trial.waitUntilRunning()) << trial.output();
  expectSurvivorsLeft(trial, 3, 1, 6);
  EXPECT_EQ(trial.codeOf(1), broken.victimsCode) << trial.output();
  EXPECT_NE(trial.output().find(broken.words), std::string::npos)
      << trial.output();
}

INSTANTIATE_TEST_SUITE_P(
    Each, OwnFaults,
    ::testing::Values(Breakdown{"abort", 3, "not enough memory for 12 bytes"},
                      Breakdown{"exit", 7,
                                "rank 1 was lost: its connection closed"},
                      Breakdown{"crash", 3, "rank 1: SIGSEGV"},
                      Breakdown{"bus", 3, "rank 1: SIGBUS"},
                      Breakdown{"order", 3, "calls do not match"}),
    [](const auto &info) { return std::string(info.param.kind); });

TEST_F(Faults, AGoodEndIsNoFault) {
  FaultTrial trial(4, 10, "end");
  ASSERT_TRUE(trial.waitForEnd(20));
  EXPECT_EQ(trial.mpirunCode(), 0) << trial.output();
  EXPECT_EQ(trial.output(), "");
}

} // namespace

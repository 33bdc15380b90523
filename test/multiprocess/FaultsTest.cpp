//===- FaultsTest.cpp - Processes that die, stop and stall ----------------===//
//
// Every trial is a world under mpirun in which one rank breaks at a random
// moment; all others must leave in time with code 3 and say why. The moments
// come from a seed that is printed; TANDEM_FAULT_SEED sets it, and
// TANDEM_FAULT_TRIALS the number of trials of each kind.
//
//===----------------------------------------------------------------------===//

#include "FaultChecks.h"

#include <csignal>
#include <gtest/gtest.h>
#include <thread>

using namespace tandem;

namespace {

TrialOptions workers(int ranks, double deadline, const std::string &kind = "") {
  TrialOptions options;
  options.ranks = ranks;
  options.launcher = mpirunOn(ranks);
  options.command = {TANDEM_FAULT_WORKER, std::to_string(deadline), kind};
  return options;
}

struct Faults : ::testing::Test {
  void SetUp() override {
    if (!haveMpirun())
      GTEST_SKIP() << "mpirun is not installed";
  }

  void waitForAMoment() {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50 + draws.upTo(200)));
  }

  Draws draws;
};

TEST_F(Faults, AKilledRankEndsAll) {
  for (int i = setting("TANDEM_FAULT_TRIALS", 2); i-- > 0;) {
    int ranks = 2 + draws.upTo(3), victim = draws.upTo(ranks);
    FaultTrial trial(workers(ranks, 10));
    ASSERT_TRUE(trial.waitUntilReady()) << trial.output();
    waitForAMoment();
    trial.signal(victim, SIGKILL);
    SCOPED_TRACE(draws.trace());
    expectSurvivorsLeft(trial, ranks, {victim}, 5);
  }
}

TEST_F(Faults, AStoppedRankEndsAll) {
  for (int i = setting("TANDEM_FAULT_TRIALS", 1); i-- > 0;) {
    int ranks = 2 + draws.upTo(3), victim = draws.upTo(ranks);
    FaultTrial trial(workers(ranks, 10));
    ASSERT_TRUE(trial.waitUntilReady()) << trial.output();
    waitForAMoment();
    trial.signal(victim, SIGSTOP);
    SCOPED_TRACE(draws.trace());
    expectSurvivorsLeft(trial, ranks, {victim}, 5);
    // Woken by mpirun, it found itself given up and left without a word.
    EXPECT_EQ(trial.output().find("rank " + std::to_string(victim) + " was at"),
              std::string::npos)
        << trial.output();
  }
}

TEST_F(Faults, ARankThatStopsBrieflyGoesOn) {
  FaultTrial trial(workers(3, 10));
  ASSERT_TRUE(trial.waitUntilReady()) << trial.output();
  waitForAMoment();
  trial.signal(1, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  trial.signal(1, SIGCONT);
  EXPECT_FALSE(trial.waitForEnd(1)) << trial.output();
  EXPECT_EQ(trial.output(), "");
  trial.signal(1, SIGKILL);
  expectSurvivorsLeft(trial, 3, {1}, 5);
}

TEST_F(Faults, AFrozenThreadEndsAllAfterTheDeadline) {
  for (int i = setting("TANDEM_FAULT_TRIALS", 1); i-- > 0;) {
    int ranks = 2 + draws.upTo(3), victim = draws.upTo(ranks);
    FaultTrial trial(workers(ranks, 1));
    ASSERT_TRUE(trial.waitUntilReady()) << trial.output();
    waitForAMoment();
    if (!trial.freezeThread(victim))
      GTEST_SKIP() << "ptrace is not allowed here";
    SCOPED_TRACE(draws.trace());
    expectSurvivorsLeft(trial, ranks, {victim}, 1 + 5);
    EXPECT_NE(trial.output().find("rank " + std::to_string(victim) + " stalls"),
              std::string::npos)
        << trial.output();
  }
}

TEST_F(Faults, ATerminatedWorldSaysSo) {
  FaultTrial trial(workers(3, 10));
  ASSERT_TRUE(trial.waitUntilReady()) << trial.output();
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
  FaultTrial trial(workers(3, 2, broken.kind));
  ASSERT_TRUE(trial.waitUntilReady()) << trial.output();
  expectSurvivorsLeft(trial, 3, {1}, 6);
  EXPECT_EQ(trial.codeOf(1), broken.victimsCode) << trial.output();
  EXPECT_NE(trial.output().find(broken.words), std::string::npos)
      << trial.output();
}

INSTANTIATE_TEST_SUITE_P(
    Each, OwnFaults,
    ::testing::Values(Breakdown{"abort", 3, "not enough memory for 12 bytes"},
                      Breakdown{"exit", 7,
                                "rank 1 was lost: its connection closed"},
                      Breakdown{"crash", 3, "SIGSEGV at address 0x0 (rank 1, "},
                      Breakdown{"bus", 3, "SIGBUS at address"},
                      Breakdown{"order", 3, "calls do not match"}),
    [](const auto &info) { return std::string(info.param.kind); });

TEST_F(Faults, AGoodEndIsNoFault) {
  FaultTrial trial(workers(4, 10, "end"));
  ASSERT_TRUE(trial.waitForEnd(20));
  EXPECT_EQ(trial.launcherCode(), 0) << trial.output();
  EXPECT_EQ(trial.output(), "");
}

} // namespace

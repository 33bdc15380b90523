//===- TrainFaultsTest.cpp - Faults in each phase of a training step ------===//
//
// `tandem train` on two processes, or on two threads of one, in which one rank
// breaks in the forward pass, the backward pass, the optimizer, or while a
// checkpoint is written. With --all every phase meets every fault on every
// layout, else each phase one of them, drawn by TANDEM_FAULT_SEED.
//
//===----------------------------------------------------------------------===//

#include "FaultChecks.h"
#include "TrainTrial.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

bool everything = false;

/// A kind of instruction that a step has in one phase only, on all ranks, or
/// the operations on the disk of a shard.
struct Phase {
  const char *name;
  const char *kind;
  /// So many at least stand in the first two steps on each rank.
  int count;
};

constexpr Phase phases[] = {{"forward", "attention", 4},
                            {"backward", "attention_grad", 4},
                            {"optimizer", "adamw", 18},
                            {"checkpoint", "shard", 6}};
// Each rank has something of its own to write.
constexpr const char *layouts[] = {"dp=2 --zero 1", "tp=2", "pp=2"};

/// One way to break, and what becomes of it.
struct Planted {
  const char *action;
  double deadline;
  int code; ///< Of the rank that breaks.
};

constexpr Planted onProcesses[] = {{"kill", 30, 128 + SIGKILL},
                                   {"stop", 30, 3}};
constexpr Planted onThreads[] = {{"hang", 2, 3}, {"crash", 30, 3}};

struct TrainFaults : ::testing::Test {
  void plant(const Phase &phase, const Planted &planted) {
    victim = draws.upTo(TrainTrial::ranks);
    planting = std::to_string(victim) + ":" + phase.kind + ":" +
               std::to_string(1 + draws.upTo(phase.count)) + ":" +
               planted.action;
  }

  /// What is left is whole: a run goes on from it to its end.
  void expectToGoOn(const TrainTrial &train) {
    std::vector<int> saved = train.saved();
    if (saved.empty())
      return;
    FaultTrial trial(train.resume(saved.back() + 1));
    ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
    EXPECT_EQ(trial.launcherCode(), 0) << trial.output();
    EXPECT_EQ(train.saved().back(), saved.back() + 1);
  }

  void onProcess(const char *layout, const Phase &phase,
                 const Planted &planted) {
    plant(phase, planted);
    TrainTrial train(layout);
    FaultTrial trial(train.run(planting, planted.deadline));
    SCOPED_TRACE(draws.trace() + " " + layout + " TANDEM_FAULT=" + planting);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    expectSurvivorsLeft(trial, TrainTrial::ranks, {victim}, 5);
    EXPECT_EQ(trial.codeOf(victim), planted.code) << trial.output();
    expectToGoOn(train);
  }

  void onAThread(const char *layout, const Phase &phase,
                 const Planted &planted) {
    plant(phase, planted);
    TrainTrial train(layout);
    TrialOptions options = train.run(planting, planted.deadline);
    options.launcher.clear();
    FaultTrial trial(options);
    SCOPED_TRACE(draws.trace() + " " + layout + " TANDEM_FAULT=" + planting);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    double limit = 5 + (planted.deadline < 30 ? planted.deadline : 0);
    ASSERT_TRUE(trial.waitForEnd(limit + 8)) << trial.output();
    EXPECT_EQ(trial.codeOf(0), planted.code) << trial.output();
    EXPECT_LE(trial.endOf(0), limit) << trial.output();
    EXPECT_TRUE(trial.leftBehind().empty());
    std::vector<std::string> lines = linesWith(
        trial.output(), "(rank " + std::to_string(victim) + ", instruction ");
    ASSERT_EQ(lines.size(), 1u) << trial.output();
    EXPECT_NE(lines[0].find(", location "), std::string::npos) << lines[0];
    expectToGoOn(train);
  }

  /// One drawn layout a phase, or all.
  template <size_t Count, typename Trial>
  void inAllPhases(const Planted (&faults)[Count], const Trial &trial) {
    for (const Phase &phase : phases) {
      size_t fault = size_t(draws.upTo(Count)), layout = size_t(draws.upTo(3));
      for (size_t f = 0; f < Count; ++f)
        for (size_t m = 0; m < 3; ++m)
          if (everything || (f == fault && m == layout))
            trial(layouts[m], phase, faults[f]);
    }
  }

  Draws draws;
  int victim = 0;
  std::string planting;
};

TEST_F(TrainFaults, EndAllProcesses) {
  if (!haveMpirun())
    GTEST_SKIP() << "mpirun is not installed";
  inAllPhases(onProcesses, [&](auto... each) { onProcess(each...); });
}

TEST_F(TrainFaults, EndAllThreads) {
  inAllPhases(onThreads, [&](auto... each) { onAThread(each...); });
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  everything = argc > 1 && std::strcmp(argv[1], "--all") == 0;
  return RUN_ALL_TESTS();
}

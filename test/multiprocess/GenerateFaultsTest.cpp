//===- GenerateFaultsTest.cpp - Faults while a plan generates -------------===//
//
// `tandem generate` on four processes, or four threads of one, in which one
// rank breaks at an instruction of each kind that the plan has. With --all
// every kind meets every fault, else a few faults one kind each, drawn by
// TANDEM_FAULT_SEED.
//
//===----------------------------------------------------------------------===//

#include "FaultChecks.h"
#include "Namespaces.h"
#include "SmallPlan.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

bool everything = false;

/// One way to break, and what becomes of it.
struct Planted {
  const char *action;
  /// Of waits, in seconds; a delay is twice as long.
  double deadline;
  /// The code of the rank that breaks.
  int code;
  /// Tried without --all too.
  bool brief = false;
};

constexpr Planted onProcesses[] = {{"kill", 30, 128 + SIGKILL, true},
                                   {"stop", 30, 3},
                                   {"delay=4", 2, 3},
                                   {"hang", 2, 3},
                                   {"allocate", 30, 3, true},
                                   {"fail", 30, 3},
                                   {"crash", 30, 3}};
constexpr Planted onThreads[] = {{"delay=4", 2, 3},
                                 {"hang", 2, 3, true},
                                 {"allocate", 30, 3},
                                 {"fail", 30, 3, true},
                                 {"crash", 30, 3}};

/// Whether the others wait for the deadline before they leave.
bool stalls(const Planted &planted) { return planted.deadline < 30; }

struct GenerateFaults : ::testing::Test {
  /// A generation in which `rank` breaks at a drawn instruction of `kind`.
  TrialOptions trialOf(const InstructionKind &kind, const Planted &planted,
                       int rank, const char *comm) {
    // In a prefill every kind is there once a layer at least.
    bool prefill = kind.entry.rfind("prefill", 0) == 0;
    int number = 1 + draws.upTo(prefill ? 2 : 100);
    TrialOptions options;
    options.command = {TANDEM_PROGRAM,
                       "generate",
                       SmallPlan::get().plan(),
                       "--comm",
                       comm,
                       "--threads",
                       "1",
                       "--prompt-ids",
                       "1,2,3,4,5,6,7,8,9",
                       "--tokens",
                       "400",
                       "--ignore-eos",
                       "--deadline",
                       std::to_string(planted.deadline)};
    if (kind.entry == "decode_sample")
      options.command.insert(options.command.end(), {"--temperature", "1"});
    planting = std::to_string(rank) + ":" + kind.name + ":" +
               std::to_string(number) + ":" + planted.action;
    options.environment["TANDEM_FAULT"] = planting;
    return options;
  }

  int rankOf(const InstructionKind &kind) {
    int stage = kind.stages[size_t(draws.upTo(int(kind.stages.size())))];
    return stage * 2 + draws.upTo(2);
  }

  void onOneOf4(const InstructionKind &kind, const Planted &planted) {
    int victim = rankOf(kind);
    TrialOptions options = trialOf(kind, planted, victim, "mpi");
    options.launcher = mpirunOn(4);
    FaultTrial trial(options);
    SCOPED_TRACE(draws.trace() + " TANDEM_FAULT=" + planting);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    double limit = 5 + (stalls(planted) ? planted.deadline : 0);
    expectSurvivorsLeft(trial, 4, {victim}, limit);
    EXPECT_EQ(trial.codeOf(victim), planted.code) << trial.output();
    // Where the victim said itself what it was at, all know it exactly.
    if (planted.code == 3 && std::strcmp(planted.action, "stop") != 0) {
      EXPECT_NE(trial.output().find(kind.name + " #"), std::string::npos)
          << trial.output();
    }
  }

  void onAThread(const InstructionKind &kind, const Planted &planted) {
    int victim = rankOf(kind);
    FaultTrial trial(trialOf(kind, planted, victim, "local"));
    SCOPED_TRACE(draws.trace() + " TANDEM_FAULT=" + planting);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    double limit = 5 + (stalls(planted) ? planted.deadline : 0);
    ASSERT_TRUE(trial.waitForEnd(limit + 8)) << trial.output();
    EXPECT_EQ(trial.launcherCode(), 3) << trial.output();
    EXPECT_LE(trial.endOf(0), limit);
    EXPECT_TRUE(trial.leftBehind().empty());
    std::vector<std::string> lines =
        linesWith(trial.output(), "(rank " + std::to_string(victim) + ", ");
    ASSERT_EQ(lines.size(), 1u) << trial.output();
    EXPECT_NE(lines[0].find("instruction " + kind.name + " #"),
              std::string::npos)
        << lines[0];
    EXPECT_NE(lines[0].find(", location "), std::string::npos) << lines[0];
    // Unless it is at a step's last instructions somebody waits for it.
    if (lines[0].find("stalls") != std::string::npos) {
      EXPECT_TRUE(namesPlace(lines[0].substr(0, lines[0].find("(rank "))))
          << lines[0];
    } else if (stalls(planted)) {
      EXPECT_NE(lines[0].find("stuck for "), std::string::npos) << lines[0];
    }
  }

  template <size_t Count, typename Trial>
  void onAllKinds(const Planted (&faults)[Count], const Trial &trial) {
    for (const Planted &planted : faults) {
      size_t drawn = size_t(draws.upTo(int(SmallPlan::get().kinds().size())));
      for (size_t i = 0; i < SmallPlan::get().kinds().size(); ++i)
        if (everything || (planted.brief && i == drawn))
          trial(SmallPlan::get().kinds()[i], planted);
    }
  }

  Draws draws;
  std::string planting;
};

TEST_F(GenerateFaults, ThePlanHasManyKinds) {
  std::set<std::string> names;
  for (const InstructionKind &kind : SmallPlan::get().kinds())
    names.insert(kind.name);
  for (const char *name :
       {"embedding", "einsum", "rms_norm", "rope", "attention", "update_slice",
        "map", "top_k", "all_reduce", "all_gather", "send", "recv"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST_F(GenerateFaults, EndAllProcesses) {
  if (!haveMpirun())
    GTEST_SKIP() << "mpirun is not installed";
  onAllKinds(onProcesses, [&](const auto &kind, const auto &planted) {
    onOneOf4(kind, planted);
  });
}

TEST_F(GenerateFaults, EndAllThreads) {
  onAllKinds(onThreads, [&](const auto &kind, const auto &planted) {
    onAThread(kind, planted);
  });
}

/// A link between two hosts goes down while a rank is at an instruction of
/// each kind. Tandem's own connections take that link, and then the ranks on
/// the other side are lost, or another one, and then nobody is lost but waits
/// do not end.
TEST_F(GenerateFaults, ACutDataLinkEndsAllProcesses) {
  if (!haveMpirun())
    GTEST_SKIP() << "mpirun is not installed";
  const Planted moment{"delay=0.5", 2, 3};
  const auto &kinds = SmallPlan::get().kinds();
  size_t drawn = size_t(draws.upTo(int(kinds.size())));
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!everything && i != drawn)
      continue;
    Namespaces hosts(/*controlFirst=*/draws.upTo(2) == 1);
    if (!hosts.missing().empty())
      GTEST_SKIP() << hosts.missing();
    TrialOptions options = trialOf(kinds[i], moment, rankOf(kinds[i]), "mpi");
    options.launcher = hosts.launcher(/*byNode=*/draws.upTo(2) == 1);
    FaultTrial trial(options);
    SCOPED_TRACE(draws.trace() + " TANDEM_FAULT=" + planting);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    trial.markFault();
    hosts.cutDataLink();
    expectSurvivorsLeft(trial, 4, {}, 5 + moment.deadline);
  }
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  everything = argc > 1 && std::strcmp(argv[1], "--all") == 0;
  return RUN_ALL_TESTS();
}

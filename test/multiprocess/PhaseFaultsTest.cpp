//===- PhaseFaultsTest.cpp - Faults before, after and beside steps --------===//
//
// Ranks that break while they start, load or finish, memory and disks that run
// out, signals of people, and the other commands. Where no instruction has run
// no message can name one.
//
//===----------------------------------------------------------------------===//

#include "FaultChecks.h"
#include "SmallPlan.h"

#include "runtime/files/SafetensorsWriter.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <thread>

using namespace tandem;

namespace {

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

/// A generation on four processes, with a fault where one is given.
TrialOptions generation(const std::string &fault, double deadline = 30,
                        int tokens = 400) {
  TrialOptions options;
  options.command = {TANDEM_PROGRAM, "generate",   SmallPlan::get().plan(),
                     "--threads",    "1",          "--prompt-ids",
                     "1,2,3,4,5",    "--tokens",   std::to_string(tokens),
                     "--ignore-eos", "--deadline", std::to_string(deadline)};
  options.launcher = mpirunOn(SmallPlan::ranks);
  options.environment["TANDEM_FAULT"] = fault;
  return options;
}

struct PhaseFaults : ::testing::Test {
  void SetUp() override {
    if (!haveMpirun())
      GTEST_SKIP() << "mpirun is not installed";
    repeats = setting("TANDEM_FAULT_TRIALS", 1);
  }

  Draws draws;
  int repeats = 1;
};

/// All that `trial` said, for the trace of a failure.
#define SCOPED_OUTPUT(trial)                                                   \
  SCOPED_TRACE(draws.trace() + "\n" + (trial).output() + (trial).results())

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// Nothing connects the ranks yet but the launcher, which ends them all when
/// one has died. The first moments belong to the dynamic loader, in which a
/// process dies of the launcher's SIGTERM.
TEST_F(PhaseFaults, ARankKilledWhileItStarts) {
  for (int i = 0; i < repeats; ++i) {
    int victim = draws.upTo(4);
    FaultTrial trial(generation(""));
    ASSERT_TRUE(trial.waitUntilStarted()) << trial.output();
    pause(draws.upTo(600));
    trial.signal(victim, SIGKILL);
    // Not asserted: mpirun may hang where a rank dies while it connects to it.
    (void)trial.waitForEnd(13);
    SCOPED_OUTPUT(trial);
    if (trial.codeOf(victim) == 0)
      continue; // It was done.
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_LE(trial.endOf(rank), 5) << rank;
      int code = trial.codeOf(rank);
      EXPECT_TRUE(rank == victim || code == 3 || code == 128 + SIGTERM)
          << "rank " << rank << ": " << code;
    }
    EXPECT_TRUE(trial.leftBehind().empty());
    EXPECT_EQ(trial.results(), "");
  }
}

TEST_F(PhaseFaults, ARankThatDoesNotUnderstandItsCommandLine) {
  TrialOptions options = generation("");
  options.before[2] = "set -- \"$@\" --tokens many";
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(30)) << trial.output();
  SCOPED_OUTPUT(trial);
  EXPECT_EQ(trial.codeOf(2), 2);
  EXPECT_NE(trial.output().find("--tokens"), std::string::npos);
  EXPECT_NE(trial.output().find("before all ranks had found each other"),
            std::string::npos);
  EXPECT_TRUE(trial.leftBehind().empty());
}

TEST_F(PhaseFaults, ARankThatCannotReadThePlan) {
  TrialOptions options = generation("");
  options.before[0] = "set -- " TANDEM_FAULT_WORKER " 30 garble";
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(30)) << trial.output();
  SCOPED_OUTPUT(trial);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(trial.codeOf(rank), 3) << rank;
  EXPECT_EQ(linesWith(trial.output(), "the plan of rank 0 cannot be read here")
                .size(),
            4u);
}

//===----------------------------------------------------------------------===//
// Loading and finishing
//===----------------------------------------------------------------------===//

/// Breaks a rank in a phase without instructions.
void breakIn(const std::string &phase, const std::string &action, Draws &draws,
             double deadline) {
  int victim = draws.upTo(4);
  FaultTrial trial(
      generation(std::to_string(victim) + ":" + phase + ":" + action, deadline,
                 /*tokens=*/4));
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  SCOPED_TRACE(draws.trace() + " " + phase + " " + action);
  expectSurvivorsLeft(trial, 4, {victim}, 5 + (deadline < 30 ? deadline : 0),
                      /*places=*/false);
}

TEST_F(PhaseFaults, ARankThatBreaksWhileItLoads) {
  for (const char *action : {"kill", "stop", "crash", "allocate", "fail"})
    breakIn("load:3", action, draws, 30);
}

TEST_F(PhaseFaults, ARankThatBreaksWhileItFinishes) {
  for (const char *action : {"kill", "stop", "fail"})
    breakIn("close:1", action, draws, 30);
  breakIn("close:1", "hang", draws, 2);
}

TEST_F(PhaseFaults, ARankThatLoadsSlowlyIsNoFault) {
  FaultTrial trial(generation("2:load:2:delay=3", 1, /*tokens=*/4));
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  EXPECT_EQ(trial.launcherCode(), 0) << trial.output();
}

TEST_F(PhaseFaults, ARankThatCannotReadTheWeights) {
  TrialOptions options = generation("");
  options.before[2] = "set -- \"$@\" --weights /nowhere";
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(30)) << trial.output();
  SCOPED_OUTPUT(trial);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(trial.codeOf(rank), 1) << rank;
  std::vector<std::string> lines = linesWith(trial.output(), "tandem: error");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("/nowhere"), std::string::npos);
  EXPECT_NE(lines[0].find("(rank 2)"), std::string::npos);
}

TEST_F(PhaseFaults, AWeightFileThatIsCutUnderARank) {
  namespace fs = std::filesystem;
  std::string cut = SmallPlan::get().folder() + "/cut";
  fs::copy(SmallPlan::get().model(), cut, fs::copy_options::recursive);
  TrialOptions options = generation("1:load:2:delay=3");
  options.command.insert(options.command.end(), {"--weights", cut});
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  pause(1500); // The others have loaded by then.
  fs::resize_file(cut + "/model.safetensors", 4096);
  ASSERT_TRUE(trial.waitForEnd(15)) << trial.output();
  SCOPED_OUTPUT(trial);
  EXPECT_EQ(trial.codeOf(1), 3);
  std::vector<std::string> lines = linesWith(trial.output(), "SIGBUS");
  EXPECT_EQ(lines.size(), 4u);
  for (const std::string &line : lines)
    EXPECT_NE(line.find("(rank 1, instruction load, location model."),
              std::string::npos)
        << line;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

TEST_F(PhaseFaults, TwoRanksKilledAtOnce) {
  for (int i = 0; i < repeats; ++i) {
    int one = draws.upTo(4), two = (one + 1 + draws.upTo(3)) % 4;
    FaultTrial trial(generation(std::to_string(one) + ":any:500:delay=0.3"));
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    SCOPED_TRACE(draws.trace());
    trial.signal(one, SIGKILL);
    trial.signal(two, SIGKILL);
    expectSurvivorsLeft(trial, 4, {one, two}, 5);
  }
}

/// What is written after the others have left would be a second result.
TEST_F(PhaseFaults, ARankThatWakesTooLateWritesNothing) {
  FaultTrial trial(generation("0:any:500:stop"));
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  SCOPED_OUTPUT(trial);
  // mpirun wakes it when the others have left.
  expectSurvivorsLeft(trial, 4, {0}, 5);
  EXPECT_EQ(trial.codeOf(0), 3);
  EXPECT_EQ(trial.results(), "");
  EXPECT_TRUE(linesWith(trial.output(), "; rank 0 was at ").empty());
}

//===----------------------------------------------------------------------===//
// People
//===----------------------------------------------------------------------===//

TEST_F(PhaseFaults, CtrlCEndsAProcessAfterItsStep) {
  for (int number : {SIGINT, SIGTERM}) {
    TrialOptions options = generation("0:any:2000:delay=0.3");
    options.launcher.clear();
    FaultTrial trial(options);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    trial.signal(0, number);
    ASSERT_TRUE(trial.waitForEnd(13)) << trial.output();
    SCOPED_OUTPUT(trial);
    EXPECT_EQ(trial.codeOf(0), 130);
    EXPECT_LE(trial.endOf(0), 5);
    EXPECT_NE(trial.output().find("interrupted after"), std::string::npos);
    EXPECT_NE(trial.results().find("["), std::string::npos);
  }
}

TEST_F(PhaseFaults, CtrlCOfMpirunEndsAll) {
  FaultTrial trial(generation("0:any:500:delay=0.3"));
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  kill(trial.launcherPid(), SIGINT);
  ASSERT_TRUE(trial.waitForEnd(13)) << trial.output();
  SCOPED_OUTPUT(trial);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(trial.codeOf(rank), 130) << rank;
    EXPECT_LE(trial.endOf(rank), 5) << rank;
  }
  EXPECT_TRUE(trial.leftBehind().empty());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// One rank gets no memory for its arena, by what it does `before`.
void refuseArena(TrialOptions options, const std::string &before,
                 Draws &draws) {
  int victim = draws.upTo(4);
  options.before[victim] = before;
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  SCOPED_OUTPUT(trial);
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(trial.codeOf(rank), 3) << rank;
  std::vector<std::string> lines =
      linesWith(trial.output(), "cannot allocate ");
  EXPECT_EQ(lines.size(), 4u);
  for (const std::string &line : lines)
    EXPECT_NE(line.find("(rank " + std::to_string(victim)), std::string::npos)
        << line;
}

TEST_F(PhaseFaults, ARankWhoseArenaCannotBeAllocated) {
  refuseArena(generation(""), "export TANDEM_FAIL_ALLOCATION=1", draws);
}

TEST_F(PhaseFaults, ARankWhoseArenaExceedsItsAddressSpace) {
  // A gigabyte of cache, of which nothing is touched before the fault.
  TrialOptions options = generation("");
  options.command[2] =
      SmallPlan::get().compile("long.plan", "--max-seq 16000000");
  refuseArena(options, "ulimit -v 1000000", draws);
}

/// At whatever place memory runs out, MPI's own code included.
TEST_F(PhaseFaults, ARankWithLittleAddressSpace) {
  for (int mebibytes = 60; mebibytes <= 300; mebibytes += 80) {
    int victim = draws.upTo(4);
    TrialOptions options = generation("");
    options.before[victim] = "ulimit -v " + std::to_string(mebibytes * 1024);
    FaultTrial trial(options);
    ASSERT_TRUE(trial.waitForEnd(75)) << trial.output();
    SCOPED_TRACE(std::to_string(mebibytes) + " MiB");
    SCOPED_OUTPUT(trial);
    if (trial.launcherCode() == 0)
      break; // It was enough.
    for (int rank = 0; rank < 4; ++rank) {
      int code = trial.codeOf(rank);
      EXPECT_TRUE(rank == victim || code == 3 || code == 128 + SIGTERM)
          << "rank " << rank << ": " << code;
    }
    EXPECT_TRUE(trial.leftBehind().empty());
  }
}

//===----------------------------------------------------------------------===//
// Disks
//===----------------------------------------------------------------------===//

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  return names;
}

/// Compiles into `folder`, where there is too little room for the plan and for
/// the dumps of its module.
void compileInto(const std::string &folder, const std::string &limit) {
  TrialOptions options;
  options.command = {TANDEM_PROGRAM,
                     "compile",
                     SmallPlan::get().model(),
                     "-o",
                     folder + "/full.plan",
                     "--dump-after",
                     "all",
                     "--dump-dir",
                     folder};
  options.before[0] = limit;
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  EXPECT_EQ(trial.codeOf(0), 1) << trial.output();
  std::vector<std::string> lines = linesWith(trial.output(), "tandem: error: ");
  ASSERT_EQ(lines.size(), 1u) << trial.output();
  EXPECT_NE(lines[0].find("full.plan"), std::string::npos) << lines[0];
  EXPECT_TRUE(filesIn(folder).empty());
}

TEST(FullDisk, ALimitOfFileSizesLeavesNothing) {
  std::string folder = SmallPlan::get().folder() + "/limited";
  std::filesystem::create_directory(folder);
  compileInto(folder, "ulimit -f 4");
}

TEST(FullDisk, AFullDiskLeavesNothing) {
  std::string folder = SmallPlan::get().folder() + "/full";
  std::filesystem::create_directory(folder);
  if (mount("none", folder.c_str(), "tmpfs", 0, "size=8k") != 0)
    GTEST_SKIP() << "file systems may not be mounted here";
  compileInto(folder, "");
  umount(folder.c_str());
}

//===----------------------------------------------------------------------===//
// The other commands
//===----------------------------------------------------------------------===//

/// `tandem run` of one entry.
TrialOptions runOf(const std::string &outputs, const std::string &fault,
                   double deadline) {
  const SmallPlan &small = SmallPlan::get();
  std::string inputs = small.folder() + "/inputs.safetensors";
  std::vector<int32_t> ids{1, 2, 3, 4, 5, 6, 7};
  EXPECT_TRUE(writeSafetensors(
                  inputs, {{{"input_ids", DType::I32, {1, 7}}, ids.data()}})
                  .ok());
  TrialOptions options = generation(fault, deadline);
  options.command = {TANDEM_PROGRAM,
                     "run",
                     SmallPlan::get().compile("logits.plan", "--entry logits "
                                                             "--max-seq 7"),
                     "--inputs",
                     inputs,
                     "--outputs",
                     outputs,
                     "--threads",
                     "1",
                     "--deadline",
                     std::to_string(deadline)};
  return options;
}

TEST_F(PhaseFaults, ARunLeavesNoResults) {
  std::string outputs = SmallPlan::get().folder() + "/outputs.safetensors";
  for (const char *action : {"kill", "stop", "delay=4"}) {
    double deadline = action[0] == 'd' ? 2 : 30;
    int victim = draws.upTo(4);
    std::string fault = std::to_string(victim) + ":rms_norm:1:" + action;
    FaultTrial trial(runOf(outputs, fault, deadline));
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    SCOPED_TRACE(draws.trace() + " " + fault);
    expectSurvivorsLeft(trial, 4, {victim}, 5 + (deadline < 30 ? deadline : 0));
    EXPECT_FALSE(std::filesystem::exists(outputs));
  }
}

TEST_F(PhaseFaults, ABenchmarkEndsToo) {
  for (const char *action : {"kill", "delay=4"}) {
    double deadline = action[0] == 'd' ? 2 : 30;
    int victim = draws.upTo(4);
    std::string fault = std::to_string(victim) + ":attention:40:" + action;
    TrialOptions options = generation(fault, deadline);
    options.command = {TANDEM_PROGRAM,
                       "bench",
                       SmallPlan::get().plan(),
                       "--threads",
                       "1",
                       "--deadline",
                       std::to_string(deadline)};
    FaultTrial trial(options);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    SCOPED_TRACE(draws.trace() + " " + fault);
    expectSurvivorsLeft(trial, 4, {victim}, 5 + (deadline < 30 ? deadline : 0));
    EXPECT_EQ(trial.results(), "");
  }
}

} // namespace

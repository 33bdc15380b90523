//===- TrainEndsTest.cpp - People and disks that end a training run -------===//
//
// Ctrl-C and its like, on threads and under mpirun, and disks that hang, fill
// up, are not there or give back other bytes, on one rank or for all.
//
//===----------------------------------------------------------------------===//

#include "FaultChecks.h"
#include "TrainTrial.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

/// All that `trial` said, for the trace of a failure.
#define SCOPED_OUTPUT(trial) SCOPED_TRACE((trial).output() + (trial).results())

struct TrainEnds : ::testing::Test {
  void SetUp() override {
    if (!haveMpirun())
      GTEST_SKIP() << "mpirun is not installed";
  }

  /// All ranks have ended in time with `code`.
  static void expectCodes(const FaultTrial &trial, int code, double limit) {
    for (int rank = 0; rank < TrainTrial::ranks; ++rank) {
      EXPECT_EQ(trial.codeOf(rank), code) << "rank " << rank;
      EXPECT_LE(trial.endOf(rank), limit) << "rank " << rank;
    }
    EXPECT_TRUE(trial.leftBehind().empty());
  }

  /// A run goes on from the newest checkpoint, which is that of `step`.
  void expectToGoOnFrom(int step) const {
    FaultTrial trial(train.resume(step + 1));
    ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
    SCOPED_OUTPUT(trial);
    EXPECT_EQ(trial.launcherCode(), 0);
    EXPECT_NE(trial.output().find("resuming behind step " +
                                  std::to_string(step) + " from"),
              std::string::npos);
    EXPECT_EQ(train.saved().back(), step + 1);
  }

  /// The run was asked to end and did so behind a step, with its checkpoint.
  void expectWholeEnd(const FaultTrial &trial) const {
    SCOPED_OUTPUT(trial);
    ASSERT_FALSE(train.saved().empty());
    std::string step = std::to_string(train.saved().back());
    std::vector<std::string> lines =
        linesWith(trial.output(), "interrupted behind step " + step);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("the checkpoint is '" + train.folder() + "/step-" +
                            step + "', the same command with --resume"),
              std::string::npos)
        << lines[0];
    expectToGoOnFrom(train.saved().back());
  }

  TrainTrial train{"tp=2"};
};

/// Some steps into a run: 20 parameters, and so many `adamw`, a step.
constexpr const char *kMoment = "0:adamw:120:delay=0.5";

//===----------------------------------------------------------------------===//
// People
//===----------------------------------------------------------------------===//

TEST_F(TrainEnds, CtrlCEndsAProcessBehindItsStep) {
  for (int number : {SIGINT, SIGTERM}) {
    TrialOptions options = train.run(kMoment);
    options.launcher.clear();
    if (!train.saved().empty())
      options.command.push_back("--resume");
    FaultTrial trial(options);
    ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
    trial.signal(0, number);
    ASSERT_TRUE(trial.waitForEnd(13)) << trial.output();
    EXPECT_EQ(trial.codeOf(0), 130) << trial.output();
    expectWholeEnd(trial);
  }
}

TEST_F(TrainEnds, ASecondCtrlCEndsAProcessAtOnce) {
  TrialOptions options = train.run("0:adamw:120:hang");
  options.launcher.clear();
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  trial.signal(0, SIGINT);
  EXPECT_FALSE(trial.waitForEnd(1)); // It waits for the step.
  trial.signal(0, SIGINT);
  ASSERT_TRUE(trial.waitForEnd(13)) << trial.output();
  EXPECT_EQ(trial.codeOf(0), 130) << trial.output();
  EXPECT_LE(trial.endOf(0), 5);
  expectToGoOnFrom(train.saved().back());
}

/// mpirun gives two seconds: too few to count on for a checkpoint.
TEST_F(TrainEnds, CtrlCOfMpirunNamesTheLastCheckpoint) {
  FaultTrial trial(train.run(kMoment));
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  trial.markFault();
  kill(trial.launcherPid(), SIGINT);
  ASSERT_TRUE(trial.waitForEnd(13)) << trial.output();
  SCOPED_OUTPUT(trial);
  expectCodes(trial, 130, 5);
  std::vector<std::string> lines =
      linesWith(trial.output(), "the last complete checkpoint is '" +
                                    train.folder() + "/step-");
  ASSERT_EQ(lines.size(), 1u);
  for (const char *part : {"--resume", "SIGUSR1 to mpirun",
                           "OMPI_MCA_odls_base_sigkill_timeout=60"})
    EXPECT_NE(lines[0].find(part), std::string::npos) << lines[0];
  ASSERT_FALSE(train.saved().empty());
  EXPECT_NE(
      lines[0].find("/step-" + std::to_string(train.saved().back()) + "'"),
      std::string::npos)
      << lines[0];
  expectToGoOnFrom(train.saved().back());
}

TEST_F(TrainEnds, SigUsr1OfMpirunGivesTheWholeEnd) {
  FaultTrial trial(train.run(kMoment));
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  kill(trial.launcherPid(), SIGUSR1);
  ASSERT_TRUE(trial.waitForEnd(30)) << trial.output();
  expectCodes(trial, 130, 30);
  expectWholeEnd(trial);
}

/// Open MPI waits for as long before its SIGTERM as behind it.
TEST_F(TrainEnds, ALauncherThatWaitsGivesTheWholeEnd) {
  TrialOptions options = train.run(kMoment, 30, 1000000);
  options.environment["OMPI_MCA_odls_base_sigkill_timeout"] = "10";
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  kill(trial.launcherPid(), SIGINT);
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  expectCodes(trial, 130, 60);
  expectWholeEnd(trial);
}

//===----------------------------------------------------------------------===//
// Disks
//===----------------------------------------------------------------------===//

/// The line that each rank says of a disk that hangs, within the deadline.
void expectHangNamed(TrainTrial &train, const std::string &fault,
                     const std::string &file, bool threads) {
  TrialOptions options = train.run(fault, 2);
  if (threads)
    options.launcher.clear();
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForFault(60)) << trial.output();
  SCOPED_TRACE(fault);
  ASSERT_TRUE(trial.waitForEnd(15)) << trial.output();
  SCOPED_OUTPUT(trial);
  size_t ranks = threads ? 1 : TrainTrial::ranks;
  std::vector<std::string> lines =
      linesWith(trial.output(), "the disk does not answer: ");
  EXPECT_EQ(lines.size(), ranks);
  for (const std::string &line : lines)
    EXPECT_NE(line.find("(rank " + fault.substr(0, 1) +
                        ", instruction checkpoint, location " + train.folder() +
                        "/" + file),
              std::string::npos)
        << line;
  for (int rank = 0; rank < int(ranks); ++rank) {
    EXPECT_EQ(trial.codeOf(rank), 3);
    EXPECT_LE(trial.endOf(rank), 2 + 5);
  }
  EXPECT_TRUE(trial.leftBehind().empty());
}

TEST_F(TrainEnds, ADiskThatHangsIsNamed) {
  for (bool threads : {false, true})
    for (auto [fault, file] :
         {std::pair<const char *, const char *>(
              "1:shard:5:hang", "step-1.tmp/rank-1.safetensors"),
          {"0:manifest:7:hang", "step-1.tmp/manifest.json"}}) {
      TrainTrial fresh("tp=2");
      expectHangNamed(fresh, fault, file, threads);
    }
}

/// One rank's disk costs a checkpoint; where it was the last one, the run.
TEST_F(TrainEnds, AFullDiskOfOneRankIsNamed) {
  TrialOptions options = train.run("", 30, 3);
  options.before[1] = "ulimit -f 4"; // In blocks of 512 bytes.
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  SCOPED_OUTPUT(trial);
  expectCodes(trial, 1, 60);
  for (int step = 1; step <= 3; ++step) {
    std::string where = "step " + std::to_string(step) +
                        " was not written: rank 1: cannot write '" +
                        train.folder() + "/step-" + std::to_string(step) +
                        ".tmp/rank-1.safetensors': File too large";
    std::vector<std::string> lines = linesWith(trial.output(), where);
    ASSERT_EQ(lines.size(), 1u) << where;
    EXPECT_EQ(lines[0].find(step < 3 ? "warning: " : "error: "), 8u);
  }
  EXPECT_TRUE(std::filesystem::is_empty(train.folder()));
}

TEST_F(TrainEnds, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(train.folder()) << "a file";
  TrialOptions options = train.run("", 30, 3);
  for (std::string &word : options.command)
    if (word == train.folder())
      word += "/out";
  FaultTrial trial(options);
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  SCOPED_OUTPUT(trial);
  expectCodes(trial, 1, 60);
  std::vector<std::string> lines = linesWith(trial.output(), "tandem: error");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("cannot make the folder '" + train.folder()),
            std::string::npos)
      << lines[0];
}

/// Changes a byte in the last rank's shard of a checkpoint.
void flipByte(const std::string &checkpoint) {
  std::fstream file(checkpoint + "/rank-1.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-9, std::ios::end);
  char byte = 0;
  file.get(byte);
  file.seekp(-9, std::ios::end);
  file.put(static_cast<char>(byte ^ 4));
}

TEST_F(TrainEnds, AChangedByteIsNamedAndTheOneBeforeTaken) {
  {
    FaultTrial first(train.run("", 30, 2));
    ASSERT_TRUE(first.waitForEnd(60));
    ASSERT_EQ(first.launcherCode(), 0) << first.output();
  }
  flipByte(train.folder() + "/step-2");
  {
    FaultTrial trial(train.resume(2));
    ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
    SCOPED_OUTPUT(trial);
    EXPECT_EQ(trial.launcherCode(), 0);
    std::vector<std::string> lines = linesWith(
        trial.output(), "step-2' is damaged and set aside as step-2.broken: ");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("rank-1.safetensors: tensor '"), std::string::npos)
        << lines[0];
    EXPECT_NE(trial.output().find("resuming behind step 1 from"),
              std::string::npos);
  }
  // None is left that is whole.
  for (int step : {1, 2})
    flipByte(train.folder() + "/step-" + std::to_string(step));
  FaultTrial trial(train.resume(3));
  ASSERT_TRUE(trial.waitForEnd(60)) << trial.output();
  SCOPED_OUTPUT(trial);
  expectCodes(trial, 1, 60);
  EXPECT_EQ(
      linesWith(trial.output(), "holds no checkpoint that is whole").size(),
      1u);
}

} // namespace

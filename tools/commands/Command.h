//===- Command.h - What the command line tools are made of ------*- C++ -*-===//
//
// Each command is a file that parses its flags and calls one library
// function. `tandem-run` has those that need a finished plan; `tandem` has
// them too and compiles a model where a plan is wanted.
//
// Exit codes: 0; 1 refused or wrong (model, plan, data); 2 usage; 3 a rank
// failed; 130 interrupted. Results go to stdout, all else to stderr.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TOOLS_COMMANDS_COMMAND_H
#define TANDEM_TOOLS_COMMANDS_COMMAND_H

#include "runtime/plan/Plan.h"

#include <CLI/CLI.hpp>

namespace tandem {

/// Layout and size of a model that is compiled on the fly.
struct PlanRequest {
  std::string path; ///< A plan, or a model.
  std::string mesh;
  std::string dtype;
  int64_t batch = 1;
  int64_t maxSeq = 0; ///< 0: the default.
  /// For training, as the flags of PlanMaker::addTrainingFlags say, which
  /// count in place of those above but the path.
  bool training = false;
  std::string weights;     ///< Of training: where they are, when elsewhere.
  bool evaluation = false; ///< Of training: with an entry `loss`.
};

/// Turns what a user named into a plan.
class PlanMaker {
public:
  virtual ~PlanMaker() = default;
  /// Loads a plan; compiles a model, where this program can.
  virtual Result<std::shared_ptr<const Plan>>
  make(const PlanRequest &request) = 0;
  /// Adds the flags that say how a model is compiled for training, where this
  /// program can. The maker outlives the command.
  virtual void addTrainingFlags(CLI::App *command) { (void)command; }
  /// Whether `path` is a plan's file.
  static bool isPlan(const std::string &path);
};

/// Loads plans only.
class PlanLoader : public PlanMaker {
public:
  Result<std::shared_ptr<const Plan>> make(const PlanRequest &request) override;
};

/// A program's options that all its commands share, and the outcome.
struct Program {
  CLI::App app;
  std::unique_ptr<PlanMaker> plans;
  /// Set by the command that ran.
  Status status;

  Program(const std::string &name, const std::string &description);
  /// Adds a command; `run` is called when it was chosen.
  CLI::App *command(const std::string &name, const std::string &description,
                    const std::string &example);
  void onRun(CLI::App *command, std::function<Status()> run);
  /// Parses, runs, prints what failed and returns the exit code.
  int main(int argc, char **argv);
};

void addInspect(Program &program);
void addVerify(Program &program);
void addRun(Program &program);
void addGenerate(Program &program);
void addTokenize(Program &program);
void addBench(Program &program);
void addTrain(Program &program);
void addCheckpoint(Program &program);
void addSchedule(Program &program);

/// `8GiB`, `512MiB`, `1000000`, at least one byte; refused with what was
/// expected.
Result<uint64_t> parseBytes(const std::string &text);
/// Refuses what is no finite number from `least` to `most`.
CLI::Validator atLeast(double least, double most = 1e300);
/// The whole of a file, or of standard input for `-`.
Result<std::string> readText(const std::string &path);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_COMMAND_H

//===- FaultTrial.h - One world of processes and its end --------*- C++ -*-===//
//
// What it is: a program started on some ranks, which then break, and what
// becomes of each: when it ended, with which code, what it said, and whether
// anything was left behind.
//
//   FaultTrial trial(tandemTrial({"generate", plan, ...}));
//   trial.waitForFault(20);           // until TANDEM_FAULT has acted
//   trial.waitForEnd(5);
//   trial.codeOf(2), trial.endOf(2), trial.output()
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_MULTIPROCESS_FAULTTRIAL_H
#define TANDEM_TEST_MULTIPROCESS_FAULTTRIAL_H

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tandem {

struct TrialOptions {
  int ranks = 4;
  /// The program and its arguments. It finds the trial's folder in
  /// TANDEM_TRIAL.
  std::vector<std::string> command;
  /// Set for all ranks.
  std::map<std::string, std::string> environment;
  /// Shell text that a rank runs before the program, such as `ulimit -v N`.
  std::map<int, std::string> before;
  /// What starts the ranks; the program's command follows. Empty: one process
  /// without a launcher, known as rank 0 here.
  std::vector<std::string> launcher;
};

/// mpirun on this machine, also as root and with more ranks than cores.
std::vector<std::string> mpirunOn(int ranks);

/// Runs one world and watches it. Everything that is started ends with the
/// object.
class FaultTrial {
public:
  explicit FaultTrial(const TrialOptions &options);
  ~FaultTrial();

  /// Waits until all ranks have written `ready.RANK`, as fault_worker does
  /// once it is at work; false after 20 s.
  bool waitUntilReady();
  /// Waits until all ranks have a process; false after 20 s.
  bool waitUntilStarted();
  /// Waits until a planted fault has acted, which counts as the moment of
  /// the fault; false after `seconds`.
  bool waitForFault(double seconds);
  /// Waits until `text` stands on standard output; false after `seconds`.
  bool waitForText(const std::string &text, double seconds);
  pid_t pidOf(int rank) const;
  pid_t launcherPid() const { return launcher; }
  void signal(int rank, int number);
  /// Makes now the moment of the fault.
  void markFault();
  /// Stops the thread of `rank` that used most time, but not its process;
  /// false where ptrace is not allowed.
  bool freezeThread(int rank);

  /// Waits until the launcher has ended; false after `seconds`.
  bool waitForEnd(double seconds);
  /// Lets a stopped process run on, as mpirun does before it kills, and waits
  /// three seconds for its end.
  void wake(int rank);
  /// When the process of `rank` ended, in seconds since the fault (or since
  /// it was started), -1 where it did not.
  double endOf(int rank) const;
  /// Its exit code, 128 + n by signal n, -1 where it has not ended.
  int codeOf(int rank) const;
  int launcherCode() const { return status; }
  /// All that came on standard error, and on standard output.
  std::string output() const { return read("errors"); }
  std::string results() const { return read("results"); }
  /// Ranks whose process is still there after three seconds.
  std::vector<int> leftBehind() const;

private:
  std::string read(const std::string &name) const;
  bool waitForFiles(const std::string &prefix);
  void waitForCodes() const;
  void start(const TrialOptions &options);

  int ranks;
  std::string folder;
  pid_t launcher = -1;
  int status = -1;
  double faultTime = 0;
};

/// Whether mpirun can be started at all.
bool haveMpirun();

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_FAULTTRIAL_H

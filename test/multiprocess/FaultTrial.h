//===- FaultTrial.h - One world of processes and its end --------*- C++ -*-===//

#ifndef TANDEM_TEST_MULTIPROCESS_FAULTTRIAL_H
#define TANDEM_TEST_MULTIPROCESS_FAULTTRIAL_H

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tandem {

/// Runs fault_worker under mpirun and watches what becomes of it. Everything
/// that is started ends with the object.
class FaultTrial {
public:
  FaultTrial(int ranks, double deadline, const std::string &kind = "");
  ~FaultTrial();

  /// Waits until all ranks are at work; false after 20 s.
  bool waitUntilRunning();
  pid_t pidOf(int rank) const;
  void signal(int rank, int number);
  /// Stops the thread of `rank` that used most time, but not its process;
  /// false where ptrace is not allowed.
  bool freezeThread(int rank);

  /// Waits until mpirun has ended; false after `seconds`.
  bool waitForEnd(double seconds);
  /// When the process of `rank` ended, in seconds since the fault (or since
  /// `waitUntilRunning`), -1 where it did not.
  double endOf(int rank) const;
  /// Its exit code, 128 + n by signal n, -1 where it has not ended.
  int codeOf(int rank) const;
  int mpirunCode() const { return status; }
  /// All that came on standard error.
  std::string output() const;
  /// Ranks whose process is still there after three seconds.
  std::vector<int> leftBehind() const;

private:
  std::string read(const std::string &name) const;

  int ranks;
  std::string folder;
  pid_t mpirun = -1;
  int status = -1;
  double faultTime = 0;
};

/// Whether mpirun can be started at all.
bool haveMpirun();

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_FAULTTRIAL_H

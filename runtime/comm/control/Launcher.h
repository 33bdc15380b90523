//===- Launcher.h - Whether a launcher started this process -----*- C++ -*-===//
//
// What `--comm auto` looks at: the variables that mpirun, srun and PMIx
// launchers set for the processes they start. SLURM_NTASKS is not one of
// them: sbatch sets it for the script itself.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_LAUNCHER_H
#define TANDEM_RUNTIME_COMM_CONTROL_LAUNCHER_H

#include <cstdint>
#include <functional>
#include <string>

namespace tandem {

struct LauncherReport {
  /// The variable that says that there are several processes; empty where
  /// there is one.
  std::string variable;
  /// How many, 0 where the launcher does not say (PMIx): then only MPI does,
  /// and it may be 1.
  int64_t processes = 1;

  bool several() const { return processes != 1; }
};

/// From the environment, or from `get`, which returns null for what is not
/// set.
LauncherReport detectLauncher();
LauncherReport
detectLauncher(const std::function<const char *(const char *)> &get);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_LAUNCHER_H

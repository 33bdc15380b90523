//===- World.h - Where a command's ranks are --------------------*- C++ -*-===//
//
// A command that runs a plan either drives all ranks as threads of this
// process, or is one process of several that mpirun or srun started: then
// rank 0 makes the plan, reads and prints, and the others serve it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TOOLS_COMMANDS_WORLD_H
#define TANDEM_TOOLS_COMMANDS_WORLD_H

#include "runtime/session/Session.h"
#include "tools/commands/Command.h"

namespace tandem {

/// The flags that say where and how ranks run.
struct WorldOptions {
  std::string comm = "auto";
  int threads = 0;
  double deadlineSeconds = 60;
  std::string weights, memory;
  /// Not flags: see SessionOptions.
  bool loadWeights = true;
  std::optional<uint64_t> init;
  /// Whether signals end the command behind a step (Interrupt.h).
  bool endsBehindStep = false;

  void addTo(CLI::App *command);
};

/// What runs on the process that leads.
using Lead = std::function<Status(Session &session)>;

/// Makes the plan and a session for it, and calls `lead` where this process
/// leads; elsewhere serves it until it is done.
Status runInWorld(Program &program, const PlanRequest &request,
                  const WorldOptions &options, const Lead &lead);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_WORLD_H

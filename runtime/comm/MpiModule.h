//===- MpiModule.h - A world of processes under mpirun or srun --*- C++ -*-===//
//
// What it is: the way from a process that a launcher started to its rank's
// Communicator. MPI is in a module, libtandem_mpi.so, loaded only here, so
// that a program without MPI on its machine runs all the same.
//
//   TANDEM_ASSIGN(MpiWorld world, openMpi(options));
//   std::string plan = world.rank() == 0 ? readPlan() : "";
//   TANDEM_TRY(world.broadcast(plan));
//   ... steps on world.communicator() ...
//   return world.finish();
//
// Rank 0 reads, compiles and writes for all; `broadcast` and `gather` carry
// what it has and wants. No deadline holds for them at first (a compilation
// takes what it takes), but a rank that dies ends them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPIMODULE_H
#define TANDEM_RUNTIME_COMM_MPIMODULE_H

#include "runtime/comm/Communicator.h"

#include <string>

namespace tandem {

class ControlPlane;

struct MpiOptions {
  double deadlineSeconds = 60; ///< Bound of a wait while the peer lives.
  int threadsPerRank = 1;      ///< Waits spin only where all threads fit.
  /// Leave by `_exit` when the world fails; else every call returns the fault
  /// (tests, and programs that embed the runtime).
  bool exitOnFault = true;
  /// The module's file; empty: beside the program, in ../lib, or where the
  /// runtime's own library is.
  std::string modulePath;
};

class MpiWorld {
public:
  MpiWorld(MpiWorld &&other) noexcept;
  /// Without `finish` before it, the other ranks take this one for dead.
  ~MpiWorld();

  int64_t rank() const;
  int64_t size() const;
  /// The ranks on this machine, this one included.
  int64_t ranksHere() const;
  Communicator &communicator();
  ControlPlane &control();

  /// What this rank does outside of instructions, for messages: `load`,
  /// `order`, ... The strings outlive the world.
  void begin(const Activity &phase);
  /// Strings given to any `begin`, the communicator's too, are about to go.
  void forget();
  /// Ends the world: all ranks leave with `cause` and its exit code. Returns
  /// only without `exitOnFault`.
  void abort(const Status &cause);
  /// Whether the deadline holds for broadcast, gather and meet as well. At
  /// first it does not; a program whose rank 0 goes from step to step without
  /// reading from people says yes on all ranks.
  void setDeadlineForBytes(bool holds);
  /// `root`'s bytes, on all ranks.
  Status broadcast(std::string &bytes, int64_t root = 0);
  /// The bytes of all ranks by rank, on `root`; empty elsewhere.
  Result<std::vector<std::string>> gather(const std::string &bytes,
                                          int64_t root = 0);
  /// Returns when all ranks have called it.
  Status meet();
  /// The good end: all ranks meet, then MPI and the connections close. No
  /// call is allowed after it.
  Status finish();

  class Impl;
  explicit MpiWorld(std::unique_ptr<Impl> impl);

private:
  std::unique_ptr<Impl> impl;
};

/// Loads the module, opens MPI and connects all ranks. Fails with a message
/// that says where the module was looked for or what MPI said.
Result<MpiWorld> openMpi(const MpiOptions &options);

/// The MPI library's name and version; a refusal where there is none.
Result<std::string> mpiVersion(const std::string &modulePath = "");

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MPIMODULE_H

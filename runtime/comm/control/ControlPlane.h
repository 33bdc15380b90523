//===- ControlPlane.h - Whether the other processes still live --*- C++ -*-===//
//
// What it is: one thread a process and TCP connections of Tandem's own, beside
// whatever carries the data. Two clocks run on it:
//
//   liveness   a connection that closes is a dead peer at once; silence of
//              `silenceSeconds` a stopped or unreachable one
//   progress   a wait that stands still for `deadlineSeconds` while the peer
//              lives is a stall; the ranks are asked what they do, along the
//              chain of waits, until one is found that waits for nobody
//
// Whoever sees a fault tells all others, prints one line and leaves by
// `_exit`; who is told prints that cause with its own instruction and leaves
// too. With `exitOnFault` false nobody leaves: every wait returns the fault.
//
//   TANDEM_ASSIGN(auto plane, ControlPlane::listen(rank, size, options));
//   ... all-gather plane->address() over whatever already works ...
//   TANDEM_TRY(plane->connect(addresses));
//   ... steps; the data path writes plane->activity() ...
//   plane->close();       // once all ranks are done with each other
//
// Who is connected to whom: every pair up to `completeLimit` processes, beyond
// that ranks at distance 1, 2, 4, ... either way, 2 log2(n) connections each;
// questions and faults then travel from neighbour to neighbour.
//
// The thread calls no MPI and takes no lock that a stream's thread holds, so
// that it goes on where one of those is stuck.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_CONTROLPLANE_H
#define TANDEM_RUNTIME_COMM_CONTROL_CONTROLPLANE_H

#include "runtime/base/Status.h"
#include "runtime/comm/control/ActivityTable.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tandem {

struct ControlOptions {
  double deadlineSeconds = 60;   ///< Bound of a wait while the peer lives.
  double heartbeatSeconds = 0.5; ///< Between two signs of life.
  double silenceSeconds = 3;     ///< Without one: stopped or unreachable.
  bool exitOnFault = true;       ///< Leave by `_exit` when there is a fault.
  int64_t completeLimit = 64;    ///< Up to here all pairs are connected.
};

class ControlPlane {
public:
  /// Opens a port of this process. No thread runs yet.
  static Result<std::unique_ptr<ControlPlane>>
  listen(int64_t rank, int64_t size, const ControlOptions &options);
  /// Unless `close` ran, tells the peers that this rank has failed.
  ~ControlPlane();

  /// Where this process can be reached, and the world's token where this is
  /// rank 0; opaque bytes for `connect` of all ranks.
  const std::string &address() const;
  /// Connects to the neighbours and starts the thread. `addresses` by rank;
  /// every rank calls it. Blocks for at most a few seconds.
  Status connect(const std::vector<std::string> &addresses);
  /// Before `connect`: what to do when SIGTERM came and no fault was its
  /// cause, in the control thread. Without it the world ends as interrupted.
  void onTerminate(std::function<void()> hook);
  /// The ranks of `addresses` that run on this machine, this one included.
  int64_t ranksHere() const;

  ActivityTable &activity();
  /// Whether the deadline holds for waits of set-up too; not at first.
  void setSetUpDeadline(bool holds);

  /// Whether the world has failed: to be looked at in every wait.
  bool faulted() const;
  /// The fault, OK while there is none.
  Status fault() const;
  /// What a wait does once `faulted`: under exitOnFault the process ends and
  /// this does not return; else it returns the fault.
  Status surrender() const;
  /// Makes `cause` the world's fault unless there is one. Under exitOnFault
  /// the process ends with the cause's exit code and this does not return.
  void abort(const Status &cause);

  /// Says goodbye and ends the thread: peers see a good end. The last call.
  void close();

private:
  class Impl;
  explicit ControlPlane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_CONTROLPLANE_H

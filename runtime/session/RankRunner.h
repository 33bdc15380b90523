//===- RankRunner.h - One rank's device, executor and slices ----*- C++ -*-===//
//
// What a local and an mpi session have in common: everything of one rank but
// the way it gets its orders. All calls come from the rank's own thread.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_RANKRUNNER_H
#define TANDEM_RUNTIME_SESSION_RANKRUNNER_H

#include "runtime/session/Session.h"
#include "runtime/session/ShardWriter.h"
#include "runtime/session/Weights.h"

namespace tandem {

class RankRunner {
public:
  /// Makes device and executor. `plan` and `communicator` outlive the runner.
  Status prepare(const Plan &plan, int64_t rank, Communicator &communicator,
                 const SessionOptions &options, int threads);
  Status load(const Plan &plan, const Weights &weights, LoadProgress &progress);
  Status step(uint32_t entry, const PortTensors &inputs);
  RankReply perform(RankTask task, const std::string &text);

  /// Where a planted fault of `kind`, which is no instruction's, acts.
  Status reach(std::string_view kind);

  /// Whether a disk hangs, so that a thread may never end that reads the
  /// rank's memory.
  bool stuck() const { return shards && shards->stuck(); }

  const PortSlices &slices(uint32_t entry) const { return entries[entry]; }
  /// Null before `prepare` has made it.
  const Executor *executor() const { return executor_.get(); }

private:
  const Plan *plan = nullptr;
  FaultPoint fault;
  std::unique_ptr<Device> device;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ShardWriter> shards; ///< Reads from the executor's arena.
  std::vector<PortSlices> entries;
};

/// The weights that `options` ask for.
Result<Weights> weightsFor(const Plan &plan, const SessionOptions &options);

/// Refuses a plan whose ranks `ranks`, of `threads` each, need more memory
/// together than the `available` bytes, before anything is loaded.
Status checkMemory(const Plan &plan, const std::vector<int64_t> &ranks,
                   int threads, uint64_t available);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_RANKRUNNER_H

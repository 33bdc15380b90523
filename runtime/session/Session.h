//===- Session.h - A plan at work on its ranks ------------------*- C++ -*-===//
//
// What it is: the ranks of a plan that this process drives, with their
// weights, ready to run entries.
//
//   local   all ranks are threads of this process
//   mpi     this process is one rank; rank 0 leads, the others serve
//
//   TANDEM_ASSIGN(auto session, createLocalSession(plan, options));
//   TANDEM_ASSIGN(HostTensors results,
//                 session->run("logits", {{"input_ids", ids}}));
//
// Under mpirun all processes make a session; rank 0 goes on as above while
// the others call serve(), which returns when rank 0 has closed. Rank 0 alone
// decides what runs next: each step's inputs travel in the broadcast that
// says that there is one.
//
// Faults: a rank that fails makes every rank return, and `step` a Status with
// rank, instruction and location; the session is over then. A rank stuck in a
// kernel beyond the deadline cannot be stopped: `step` returns all the same,
// `stuck()` is true, and the process should leave by `_exit`.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_SESSION_H
#define TANDEM_RUNTIME_SESSION_SESSION_H

#include "runtime/plan/Plan.h"
#include "runtime/session/PortSlices.h"
#include "runtime/session/RankTask.h"

#include <functional>
#include <memory>

namespace tandem {

class MpiWorld;

struct SessionOptions {
  /// Threads of each rank's kernels; 0: the CPUs of the affinity mask divided
  /// among the ranks here, at least 1.
  int threads = 0;
  /// How long a wait or a kernel may take without progress.
  double deadlineSeconds = 60;
  /// What all ranks on this machine may use, in bytes; 0: what is free.
  uint64_t memoryBytes = 0;
  /// Where the weights are, when not where the plan says.
  std::string weights;
  /// Whether to load them; without, parameters are zeros until a checkpoint
  /// (Checkpoints.h) or a caller fills them.
  bool loadWeights = true;
  /// Draws the weights of a new model in place of reading files.
  std::optional<uint64_t> init;
  /// `cpu`, or `chaos` (tests).
  std::string device = "cpu";
  uint64_t seed = 0; ///< Of the chaos device.
  /// Called on the calling thread now and then while weights load.
  std::function<void(int64_t doneBytes, int64_t totalBytes)> progress;
};

class Session {
public:
  virtual ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Plan &plan() const { return *plan_; }
  /// Threads of each rank's kernels.
  int threads() const { return threads_; }

  /// The ranks on this machine, those of other processes too.
  virtual int64_t ranksHere() const = 0;
  /// Whether this process leads: it may call run and step.
  virtual bool leads() const = 0;

  /// Runs an entry once on all ranks. `inputs` are as emptyInputs() makes
  /// them; `outputs` as emptyOutputs() does, and receive the results.
  virtual Status step(uint32_t entry, const PortTensors &inputs,
                      PortTensors &outputs) = 0;

  /// Has every rank do `task` with `text` between two steps; the replies by
  /// rank. One that has failed, rather than refused, ends the session.
  virtual Result<std::vector<RankReply>> ask(RankTask task,
                                             const std::string &text) = 0;

  /// Runs the entry called `entry` on inputs by name (see Inputs.h for what
  /// is accepted) and returns its outputs by name, cut to the true sequence.
  Result<HostTensors> run(const std::string &entry, const HostTensors &inputs);

  /// Of a process that does not lead: runs what rank 0 asks for until it
  /// closes. Returns at once, OK, in a process that leads.
  virtual Status serve() { return Status(); }
  /// Ends the session on all ranks. Called by the destructor otherwise.
  virtual Status close() { return Status(); }

  /// Of the process that leads: it is stuck and nothing can run any more.
  virtual void giveUp(const Status &cause) { fault_ = cause; }
  /// Whether a thread could not be brought back.
  virtual bool stuck() const { return false; }
  /// What ended the session, OK while it can run.
  Status fault() const { return fault_; }

protected:
  Session(std::shared_ptr<const Plan> plan, int threads)
      : plan_(std::move(plan)), threads_(threads) {}

  std::shared_ptr<const Plan> plan_;
  int threads_;
  Status fault_;
};

/// All ranks of `plan` as threads of this process, weights loaded.
Result<std::unique_ptr<Session>>
createLocalSession(std::shared_ptr<const Plan> plan,
                   const SessionOptions &options);

/// This process as rank `world.rank()` of `plan`, weights loaded. `world`
/// outlives the session.
Result<std::unique_ptr<Session>>
createMpiSession(std::shared_ptr<const Plan> plan, MpiWorld &world,
                 const SessionOptions &options);

/// What the ranks on this machine may use together, in bytes.
uint64_t memoryFor(const SessionOptions &options);
/// The threads a rank gets by default where `ranksHere` of the plan's ranks
/// share this process.
int defaultThreads(int64_t ranksHere);
/// Warns where `threads` a rank, as asked for, are more than the CPUs of the
/// affinity mask.
void warnOfTooManyThreads(int threads, int64_t ranksHere);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_SESSION_H

//===- Executor.h - Runs a plan as one rank ---------------------*- C++ -*-===//
//
// What it is: one rank of one plan on one Device and one Communicator.
//
//   TANDEM_ASSIGN(auto executor, Executor::create(plan, rank, *device, *comm));
//   fill executor->parameter(i)->data ... executor->input(e, 0)->data
//   TANDEM_TRY(executor->run(e));
//   read executor->output(e, 0)->data
//
// `create` does all that can be done once: it allocates the rank's one arena
//
//   [ parameters and states, where the plan puts them | scratch ]
//
// makes every group, and prepares each instruction of each entry with this
// rank's addresses and valid extents: once for each slot where it works on
// one, once for each microbatch where it reads a slice of one. `run` then only
// enqueues: it allocates nothing and knows neither kernel nor collective. Which
// device or communicator serves it makes no difference here.
//
// Failure: an instruction that fails ends the world (Communicator::abort), so
// that no rank waits for this one; the Status names rank, step, instruction
// and location. Afterwards every `run` returns it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_EXECUTOR_H
#define TANDEM_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/FaultPoint.h"
#include "runtime/exec/RankLayout.h"
#include "runtime/exec/TraceRing.h"
#include "runtime/plan/Places.h"

#include <memory>
#include <optional>

namespace tandem {

class Executor {
public:
  /// Prepares `rank` of `plan`. Plan, device and communicator outlive it.
  static Result<std::unique_ptr<Executor>> create(const Plan &plan,
                                                  int64_t rank, Device &device,
                                                  Communicator &communicator);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  int64_t rank() const { return layout_.rank; }
  uint32_t stage() const { return stage_; }
  const RankLayout &layout() const { return layout_; }

  /// This rank's piece of parameter `index`, zero-filled at first; nothing
  /// where its stage does not hold it.
  std::optional<TensorArg> parameter(uint32_t index) const;
  std::optional<TensorArg> state(uint32_t index) const;
  /// Its piece of input `port` of `entry`; nothing where its stage has none.
  /// What is written there holds for the next `run` of that entry only.
  std::optional<TensorArg> input(uint32_t entry, uint32_t port) const;
  /// Its piece of an output, good until the next `run` of any entry.
  std::optional<TensorArg> output(uint32_t entry, uint32_t port) const;
  /// All the memory for tensors that it has, in bytes: the arena and the
  /// workspace beside it. What MemoryLimit.h and Workspace.h say before.
  uint64_t allocated() const { return allocated_; }
  /// Makes all states zeros again.
  void clearStates();

  /// Runs one entry and returns when all streams are idle.
  Status run(uint32_t entry);

  /// `gate` is called on the thread that calls `run`, before it enqueues the
  /// first instruction that writes a parameter or a state: whoever still
  /// reads those is waited for there. Where it fails the run does, on all
  /// ranks. Null: nobody reads.
  void setGate(std::function<Status()> gate) { this->gate = std::move(gate); }

  /// Keeps the last `eventsPerStream` instructions of each stream from now on,
  /// or nothing (0), which is how it begins. Not during a run.
  void trace(size_t eventsPerStream);
  /// What was kept, stream by stream. Not during a run.
  std::vector<TraceEvent> traced() const;

  /// Where a rank is, as another thread may ask while it runs. `count` grows
  /// with every instruction that starts; `launch` tells a kernel from a wait
  /// for peers, which has a deadline of its own. Strings live as long as the
  /// executor.
  struct Sighting {
    uint64_t count = 0;
    bool running = false;
    bool launch = false;
    Activity activity;
  };
  Sighting sighting() const;

private:
  struct Prepared;
  struct Step;
  struct Steps;
  struct StreamView;
  class Preparer;

  Executor(const Plan &plan, int64_t rank, Device &device,
           Communicator &communicator);
  Status prepareStreams();
  Status allocate();
  Result<std::byte *> allocate(uint64_t bytes);
  std::byte *address(const Place &place) const;
  std::optional<TensorArg> port(const fb::Port &port, uint32_t entry) const;
  Status execute(Step &step);
  Status perform(Step &step);
  Status fail(const Step &step, Status status);
  Status passGate();

  const Plan &plan;
  Device &device;
  Communicator &comm;
  RankLayout layout_;
  uint32_t stage_ = 0;
  FaultPoint fault;
  std::function<Status()> gate;
  std::byte *arena = nullptr;
  uint64_t allocated_ = 0;
  int64_t scratch = 0; ///< Where the scratch part begins.
  std::vector<std::unique_ptr<Steps>> entries;
  std::vector<std::unique_ptr<StreamView>> streams;
  std::atomic<bool> running{false};
  std::atomic<bool> atGate{false};
  int64_t stepNumber = -1;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_EXECUTOR_H

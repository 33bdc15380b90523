#include "runtime/exec/Executor.h"

#include "runtime/base/Guarded.h"
#include "runtime/comm/control/CrashHandler.h"
#include "runtime/exec/Lifetimes.h"
#include "runtime/exec/Workspace.h"
#include "runtime/plan/MemoryLimit.h"
#include "runtime/plan/Structure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <tuple>

namespace tandem {

/// An instruction on certain addresses.
struct Executor::Prepared {
  std::unique_ptr<Launch> launch;
  HostWork collective;
};

/// One step of an entry, ready to be enqueued.
struct Executor::Step {
  fb::Opcode op = fb::Opcode::Launch;
  int stream = 0;
  int eventNumber = 0; ///< Record, Wait.
  HostWork work;       ///< What the device runs: `execute` of this step.
  const Prepared *prepared = nullptr;
  std::string name; ///< `all_reduce #12 of microbatch 3`
  Activity activity;
  bool faulty = false;
  bool writesKept = false; ///< A parameter or a state.
  std::vector<ByteRange> dead;
  TraceEvent event; ///< All but when.

  bool isLaunch() const { return op == fb::Opcode::Launch; }
};

/// The steps of one entry in their order.
struct Executor::Steps {
  /// By instruction, slot and microbatch, 0 where they make no difference.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Prepared> prepared;
  std::vector<std::unique_ptr<Step>> steps;
};

/// What a stream is at, for other threads to look at.
struct Executor::StreamView {
  std::atomic<const Step *> step{nullptr};
  std::atomic<uint64_t> count{0};
  /// Workspace beyond what the plan provides, where a kernel wants more.
  std::byte *spare = nullptr;
  int64_t spareBytes = 0;
  /// While there is one, every instruction is noted.
  std::unique_ptr<TraceRing> trace;
};

/// Prepares the steps of one entry.
class Executor::Preparer {
public:
  Preparer(Executor &executor, uint32_t index)
      : executor(executor), plan(executor.plan),
        entry(*plan.table().entries()->Get(index)),
        program(*entry.programs()->Get(executor.stage_)) {}

  Status prepare(Steps &result) {
    Sequence sequence(plan, entry, executor.stage_);
    std::vector<std::vector<ByteRange>> dead;
    if (executor.device.discards())
      dead = deadAfter(plan, entry, executor.stage_);
    return sequence.each([&](const tandem::Step &at) -> Status {
      result.steps.push_back(std::make_unique<Step>());
      Step &step = *result.steps.back();
      describeStep(at, step);
      if (!dead.empty())
        step.dead = std::move(dead[at.position()]);
      if (at.op() == fb::Opcode::Record || at.op() == fb::Opcode::Wait)
        return Status();
      auto [it, isNew] = result.prepared.try_emplace(placesOf(at));
      step.prepared = &it->second;
      if (!isNew)
        return Status();
      Status status = step.isLaunch() ? prepareLaunch(at, it->second)
                                      : prepareExchange(at, it->second);
      return status.ok() ? status : status.withContext(at.describe());
    });
  }

private:
  /// What tells apart runs of an instruction that work on other addresses.
  std::tuple<uint32_t, uint32_t, uint32_t>
  placesOf(const tandem::Step &at) const {
    const fb::Instruction &it = at.instruction();
    uint32_t slot = 0, microbatch = 0;
    uint32_t count = uint32_t(it.inputs()) + it.outputs() + it.workspaces();
    for (uint32_t a = 0; a < count; ++a) {
      fb::Region region = plan.argument(program, it, a).region();
      if (region == fb::Region::Slot)
        slot = at.slot();
      if (region == fb::Region::Microbatch)
        microbatch = at.microbatch();
    }
    return {at.index(), slot, microbatch};
  }

  void describeStep(const tandem::Step &at, Step &step) {
    step.op = at.op();
    step.stream = at.instruction().stream();
    step.eventNumber = static_cast<int>(at.event());
    step.name = instructionName(at.what(), at.index(), at.shownMicrobatch());
    step.activity = {step.name.c_str(), at.location()};
    step.faulty = executor.fault.concerns(executor.rank(), at.what());
    for (uint32_t a = 0; a < at.outputs(); ++a) {
      fb::Region region = at.value(at.output(a)).region();
      step.writesKept |=
          region == fb::Region::Parameter || region == fb::Region::State;
    }
    step.event = {
        at.what(),   at.location(),   at.index(), at.shownMicrobatch(),
        step.stream, step.isLaunch(), bytesOf(at)};
    step.work = [executor = &executor, step = &step] {
      return executor->execute(*step);
    };
  }

  int64_t bytesOf(const tandem::Step &at) const {
    int64_t bytes = 0;
    for (uint32_t a = 0; a < at.inputs() + at.outputs(); ++a)
      bytes += static_cast<int64_t>(
          plan.argument(program, at.instruction(), a).bytes());
    return bytes;
  }

  std::byte *address(const tandem::Step &at, const fb::Value &value) const {
    return executor.address(
        placeOf(program, value, at.microbatch(), at.slot()));
  }

  Status prepareLaunch(const tandem::Step &at, Prepared &result) {
    const Kernel *kernel = findKernel(at.what());
    if (!kernel)
      return Status::refused("this runtime has no kernel '" +
                             std::string(at.what()) + "'");
    KernelCall call = callOf(at, executor.layout_, [&](const fb::Value &value) {
      return address(at, value);
    });
    TANDEM_TRY(kernel->check(call));
    ThreadPool &threads = executor.device.threads();
    int64_t need = kernel->workspaceBytes(call, threads.size());
    workspace(at, need, call.workspace, call.workspaceBytes);
    result.launch = kernel->prepare(call, threads);
    return Status();
  }

  Status prepareExchange(const tandem::Step &at, Prepared &result) {
    const fb::Instruction &it = at.instruction();
    CollectiveCall call = exchangeOf(at);
    uint32_t last = uint32_t(it.inputs()) + it.outputs() - 1;
    const fb::Value &from = plan.argument(program, it, 0);
    const fb::Value &to = plan.argument(program, it, last);
    call.in = address(at, from);
    call.out = address(at, to);
    if (it.op() == fb::Opcode::Send || it.op() == fb::Opcode::Recv)
      call.target = peer(it.target());
    workspace(at, workspaceBytes(call), call.workspace, call.workspaceBytes);
    TANDEM_ASSIGN(result.collective,
                  prepareCollective(call, executor.layout_, executor.comm));
    return Status();
  }

  int64_t peer(uint32_t stage) const {
    const Mesh &mesh = executor.layout_.mesh;
    return mesh.withCoordinate(executor.rank(), {mesh.whole(kStageAxis)},
                               stage);
  }

  /// The plan's workspace, or the stream's own where that is too small for
  /// what this machine's threads ask for.
  void workspace(const tandem::Step &at, int64_t need, std::byte *&data,
                 int64_t &bytes) const {
    const fb::Instruction &it = at.instruction();
    if (it.workspaces()) {
      const fb::Value &value =
          plan.argument(program, it, uint32_t(it.inputs()) + it.outputs());
      data = address(at, value);
      bytes = static_cast<int64_t>(value.bytes());
    }
    if (need <= bytes)
      return;
    const StreamView &stream = *executor.streams[it.stream()];
    data = stream.spare;
    bytes = stream.spareBytes;
  }

  Executor &executor;
  const Plan &plan;
  const fb::Entry &entry;
  const fb::Program &program;
};

Executor::Executor(const Plan &plan, int64_t rank, Device &device,
                   Communicator &communicator)
    : plan(plan), device(device), comm(communicator),
      layout_{plan.mesh(), rank}, stage_(plan.stageOf(rank)) {}

Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::create(const Plan &plan,
                                                   int64_t rank, Device &device,
                                                   Communicator &communicator) {
  if (rank < 0 || rank >= plan.numRanks() ||
      communicator.size() != plan.numRanks())
    return Status::refused("rank " + std::to_string(rank) + " of " +
                           std::to_string(communicator.size()) +
                           ", the plan has " + std::to_string(plan.numRanks()) +
                           " ranks");
  std::unique_ptr<Executor> executor(
      new Executor(plan, rank, device, communicator));
  TANDEM_ASSIGN(executor->fault, FaultPoint::fromEnvironment());
  TANDEM_TRY(executor->prepareStreams());
  TANDEM_TRY(executor->allocate());
  for (uint32_t e = 0; e < plan.table().entries()->size(); ++e) {
    executor->entries.push_back(std::make_unique<Steps>());
    TANDEM_TRY(Preparer(*executor, e).prepare(*executor->entries[e]));
  }
  return executor;
}

Status Executor::prepareStreams() {
  int streamCount = 1, events = 0;
  for (const fb::Entry *entry : *plan.table().entries())
    TANDEM_TRY(
        Sequence(plan, *entry, stage_).each([&](const tandem::Step &step) {
          streamCount = std::max(streamCount, step.instruction().stream() + 1);
          if (step.op() == fb::Opcode::Record || step.op() == fb::Opcode::Wait)
            events = std::max(events, static_cast<int>(step.event()) + 1);
          return Status();
        }));
  for (int i = 0; i < streamCount; ++i)
    streams.push_back(std::make_unique<StreamView>());
  return device.prepare(streamCount, events);
}

namespace {

/// Where `table` (a parameter or state) lies in the persistent part of a
/// stage; negative where the stage does not hold it.
template <typename Table>
int64_t persistentOffset(const Table &table, uint32_t stage) {
  for (uint32_t i = 0; i < table.stages()->size(); ++i)
    if (table.stages()->Get(i) == stage)
      return static_cast<int64_t>(table.offsets()->Get(i));
  return -1;
}

template <typename Tables>
std::optional<TensorArg> persistent(const Plan &plan, const Tables &tables,
                                    uint32_t index, const RankLayout &layout,
                                    uint32_t stage, std::byte *arena) {
  int64_t offset = persistentOffset(*tables.Get(index), stage);
  if (offset < 0)
    return std::nullopt;
  return layout.tensor(plan.type(tables.Get(index)->type()), arena + offset);
}

} // namespace

Status Executor::allocate() {
  scratch = static_cast<int64_t>(persistentBytes(plan, stage_));
  TANDEM_ASSIGN(arena, allocate(arenaBytes(plan, stage_)));
  std::vector<int64_t> spare =
      workspaceByStream(plan, stage_, device.threads().size());
  for (size_t s = 0; s < spare.size(); ++s) {
    if (spare[s] == 0)
      continue;
    streams[s]->spareBytes = spare[s];
    TANDEM_ASSIGN(streams[s]->spare, allocate(static_cast<uint64_t>(spare[s])));
  }
  return Status();
}

Result<std::byte *> Executor::allocate(uint64_t bytes) {
  allocated_ += bytes;
  return device.allocate(static_cast<size_t>(bytes));
}

std::byte *Executor::address(const Place &place) const {
  const fb::Plan &table = plan.table();
  switch (place.region) {
  case fb::Region::Parameter:
    return arena +
           persistentOffset(*table.parameters()->Get(place.index), stage_);
  case fb::Region::State:
    return arena + persistentOffset(*table.states()->Get(place.index), stage_);
  default:
    return arena + scratch + place.begin;
  }
}

std::optional<TensorArg> Executor::parameter(uint32_t index) const {
  return persistent(plan, *plan.table().parameters(), index, layout_, stage_,
                    arena);
}

std::optional<TensorArg> Executor::state(uint32_t index) const {
  return persistent(plan, *plan.table().states(), index, layout_, stage_,
                    arena);
}

std::optional<TensorArg> Executor::port(const fb::Port &port,
                                        uint32_t entry) const {
  uint32_t index = port.values()->Get(stage_);
  if (index == kNone)
    return std::nullopt;
  const fb::Program &program =
      *plan.table().entries()->Get(entry)->programs()->Get(stage_);
  return layout_.tensor(
      plan.type(port.type()),
      address(placeOf(program, *program.values()->Get(index), 0, 0)));
}

std::optional<TensorArg> Executor::input(uint32_t entry, uint32_t index) const {
  return port(*plan.table().entries()->Get(entry)->inputs()->Get(index), entry);
}

std::optional<TensorArg> Executor::output(uint32_t entry,
                                          uint32_t index) const {
  return port(*plan.table().entries()->Get(entry)->outputs()->Get(index),
              entry);
}

void Executor::clearStates() {
  for (uint32_t i = 0; i < plan.table().states()->size(); ++i)
    if (std::optional<TensorArg> tensor = state(i))
      std::memset(
          tensor->data, 0,
          static_cast<size_t>(storageBytes(tensor->dtype, tensor->elements())));
}

Status Executor::run(uint32_t entry) {
  ++stepNumber;
  running.store(true, std::memory_order_release);
  bool open = !gate;
  Status passed;
  for (const std::unique_ptr<Step> &step : entries[entry]->steps) {
    if (step->writesKept && !std::exchange(open, true))
      if (passed = passGate(); !passed.ok())
        break;
    if (step->op == fb::Opcode::Record)
      device.record(step->stream, step->eventNumber);
    else if (step->op == fb::Opcode::Wait)
      device.wait(step->stream, step->eventNumber);
    else
      device.enqueue(step->stream, step->work);
    for (const ByteRange &range : step->dead)
      device.discard(step->stream, arena + scratch + range.offset, range.bytes);
  }
  Status status = device.synchronize();
  running.store(false, std::memory_order_release);
  return passed.ok() ? status : passed;
}

namespace {

constexpr Activity kGate = {"checkpoint", ""};

} // namespace

/// On the thread of the first stream, for which others may be waiting.
Status Executor::passGate() {
  comm.begin(0, kGate);
  atGate.store(true, std::memory_order_release);
  Status status = gate();
  atGate.store(false, std::memory_order_release);
  // The others are not left waiting for what this rank would have sent.
  if (!status.ok())
    comm.abort(status);
  return status;
}

namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

void Executor::trace(size_t eventsPerStream) {
  for (std::unique_ptr<StreamView> &stream : streams)
    stream->trace = eventsPerStream
                        ? std::make_unique<TraceRing>(eventsPerStream)
                        : nullptr;
}

std::vector<TraceEvent> Executor::traced() const {
  std::vector<TraceEvent> all;
  for (const std::unique_ptr<StreamView> &stream : streams)
    if (stream->trace) {
      std::vector<TraceEvent> own = stream->trace->events();
      all.insert(all.end(), own.begin(), own.end());
    }
  return all;
}

Status Executor::execute(Step &step) {
  StreamView &stream = *streams[static_cast<size_t>(step.stream)];
  stream.step.store(&step, std::memory_order_relaxed);
  stream.count.fetch_add(1, std::memory_order_release);
  comm.begin(step.stream, step.activity);
  setCrashActivity(rank(), step.activity.instruction, step.activity.location);
  int64_t begin = stream.trace ? now() : 0;
  Status status = guarded([&] { return perform(step); });
  if (stream.trace) {
    TraceEvent event = step.event;
    event.step = stepNumber;
    event.begin = begin;
    event.end = now();
    stream.trace->add(event);
  }
  return status.ok() ? status : fail(step, std::move(status));
}

Status Executor::perform(Step &step) {
  if (step.faulty)
    TANDEM_TRY(fault.reach());
  return step.isLaunch() ? step.prepared->launch->run()
                         : step.prepared->collective();
}

/// A status that another rank's failure brought here names its place already.
Status Executor::fail(const Step &step, Status status) {
  if (status.rank < 0)
    status.rank = rank();
  if (status.step < 0)
    status.step = stepNumber;
  if (status.instruction.empty())
    status.instruction = step.name;
  if (status.location.empty())
    status.location = step.activity.location;
  comm.abort(status);
  return status;
}

Executor::Sighting Executor::sighting() const {
  Sighting result;
  result.running = running.load(std::memory_order_acquire);
  for (const std::unique_ptr<StreamView> &stream : streams) {
    result.count += stream->count.load(std::memory_order_acquire);
    const Step *step = stream->step.load(std::memory_order_relaxed);
    // A kernel, where any stream runs one: waits end by themselves.
    if (!step || (result.launch && !step->isLaunch()))
      continue;
    result.launch = step->isLaunch();
    result.activity = step->activity;
  }
  if (atGate.load(std::memory_order_acquire)) {
    result.launch = false;
    result.activity = kGate;
  }
  return result;
}

} // namespace tandem

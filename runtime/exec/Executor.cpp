#include "runtime/exec/Executor.h"

#include "runtime/base/Guarded.h"
#include "runtime/comm/control/CrashHandler.h"
#include "runtime/exec/CollectiveCall.h"
#include "runtime/exec/Lifetimes.h"
#include "runtime/plan/Structure.h"

#include <algorithm>
#include <cstring>

namespace tandem {

/// One instruction, ready to be enqueued.
struct Executor::Step {
  fb::Opcode op = fb::Opcode::Launch;
  int stream = 0;
  int event = 0; ///< Record, Wait.
  HostWork work; ///< What the device runs: `execute` of this step.
  std::unique_ptr<Launch> launch;
  HostWork collective;
  std::string name; ///< `all_reduce #12`
  Activity activity;
  bool faulty = false;
  bool writesKept = false; ///< A parameter or a state.
  std::vector<ByteRange> dead;
};

/// What a stream is at, for other threads to look at.
struct Executor::StreamView {
  std::atomic<const Step *> step{nullptr};
  std::atomic<uint64_t> count{0};
  /// Workspace beyond what the plan provides, where a kernel wants more.
  std::byte *spare = nullptr;
  int64_t spareBytes = 0;
};

/// Prepares the steps of one entry.
class Executor::Preparer {
public:
  Preparer(Executor &executor, uint32_t index)
      : executor(executor), plan(executor.plan),
        entry(*plan.table().entries()->Get(index)),
        program(*entry.programs()->Get(executor.stage_)) {}

  Status prepare(std::vector<std::unique_ptr<Step>> &steps) {
    std::vector<std::vector<ByteRange>> dead = deadAfter(program, outputs());
    for (uint32_t i = 0; i < program.instructions()->size(); ++i) {
      const fb::Instruction &it = *program.instructions()->Get(i);
      steps.push_back(std::make_unique<Step>());
      Step &step = *steps.back();
      describeStep(it, i, step);
      step.dead = std::move(dead[i]);
      Status status = it.op() == fb::Opcode::Launch ? prepareLaunch(it, step)
                      : isCollective(it.op())       ? prepareExchange(it, step)
                                                    : Status();
      if (!status.ok())
        return status.withContext(describe(plan, entry, executor.stage_, i));
    }
    return Status();
  }

private:
  std::vector<uint32_t> outputs() const {
    std::vector<uint32_t> values;
    for (const fb::Port *port : *entry.outputs())
      if (port->values()->Get(executor.stage_) != kNone)
        values.push_back(port->values()->Get(executor.stage_));
    return values;
  }

  void describeStep(const fb::Instruction &it, uint32_t index, Step &step) {
    const char *kind = it.op() == fb::Opcode::Launch ? plan.kernel(it.target())
                                                     : tandem::name(it.op());
    step.op = it.op();
    step.stream = it.stream();
    step.event = static_cast<int>(it.target());
    step.name = std::string(kind) + " #" + std::to_string(index);
    step.activity = {step.name.c_str(), plan.string(it.location())};
    step.faulty = executor.fault.concerns(executor.rank(), kind);
    for (uint32_t a = 0; a < it.outputs(); ++a)
      step.writesKept |= plan.argument(program, it, it.inputs() + a).region() !=
                         fb::Region::Arena;
    step.work = [executor = &executor, step = &step] {
      return executor->execute(*step);
    };
  }

  TensorArg argument(const fb::Instruction &it, uint32_t position) const {
    const fb::Value &value = plan.argument(program, it, position);
    return executor.layout_.tensor(plan.type(value.type()),
                                   executor.address(value));
  }

  Status prepareLaunch(const fb::Instruction &it, Step &step) {
    const Kernel *kernel = findKernel(plan.kernel(it.target()));
    if (!kernel)
      return Status::refused("this runtime has no kernel '" +
                             std::string(plan.kernel(it.target())) + "'");
    KernelCall call;
    for (uint32_t a = 0; a < it.inputs(); ++a)
      call.inputs.push_back(argument(it, a));
    for (uint32_t a = 0; a < it.outputs(); ++a)
      call.outputs.push_back(argument(it, it.inputs() + a));
    call.rule = plan.rule(it.rule());
    for (uint32_t n = 0; n < it.numbers_count(); ++n)
      call.numbers.push_back(
          plan.table().numbers()->Get(it.first_number() + n));
    TANDEM_TRY(kernel->check(call));
    ThreadPool &threads = executor.device.threads();
    int64_t need = kernel->workspaceBytes(call, threads.size());
    TANDEM_TRY(workspace(it, need, call.workspace, call.workspaceBytes));
    step.launch = kernel->prepare(call, threads);
    return Status();
  }

  Status prepareExchange(const fb::Instruction &it, Step &step) {
    CollectiveCall call;
    call.op = it.op();
    call.reduction = static_cast<ReductionKind>(it.reduction());
    call.dim = it.dim();
    call.fromDim = it.from_dim();
    call.channel = it.stream();
    call.target = it.target();
    call.axes = plan.axisList(it.axes());
    // A send has no result and a receive no operand.
    uint32_t last = uint32_t(it.inputs()) + it.outputs() - 1;
    const fb::Value &from = plan.argument(program, it, 0);
    const fb::Value &to = plan.argument(program, it, last);
    call.from = plan.type(from.type());
    call.to = plan.type(to.type());
    call.in = executor.address(from);
    call.out = executor.address(to);
    if (it.op() == fb::Opcode::Send || it.op() == fb::Opcode::Recv)
      call.target = peer(it.target());
    TANDEM_TRY(workspace(it, workspaceBytes(call), call.workspace,
                         call.workspaceBytes));
    TANDEM_ASSIGN(step.collective,
                  prepareCollective(call, executor.layout_, executor.comm));
    return Status();
  }

  int64_t peer(uint32_t stage) const {
    const Mesh &mesh = executor.layout_.mesh;
    return mesh.withCoordinate(executor.rank(), {mesh.whole(kStageAxis)},
                               stage);
  }

  /// The plan's workspace, or memory of the stream's own where that is too
  /// small for what this machine's threads ask for.
  Status workspace(const fb::Instruction &it, int64_t need, std::byte *&data,
                   int64_t &bytes) {
    if (it.workspaces()) {
      const fb::Value &value =
          plan.argument(program, it, uint32_t(it.inputs()) + it.outputs());
      data = executor.address(value);
      bytes = static_cast<int64_t>(value.bytes());
    }
    if (need <= bytes)
      return Status();
    StreamView &stream = *executor.streams[it.stream()];
    if (stream.spareBytes < need) {
      TANDEM_ASSIGN(stream.spare,
                    executor.device.allocate(static_cast<size_t>(need)));
      stream.spareBytes = need;
    }
    data = stream.spare;
    bytes = stream.spareBytes;
    return Status();
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
  executor->entries.resize(plan.table().entries()->size());
  for (uint32_t e = 0; e < executor->entries.size(); ++e)
    TANDEM_TRY(Preparer(*executor, e).prepare(executor->entries[e]));
  return executor;
}

Status Executor::prepareStreams() {
  int streamCount = 1, events = 0;
  for (const fb::Entry *entry : *plan.table().entries())
    for (const fb::Instruction *it :
         *entry->programs()->Get(stage_)->instructions()) {
      streamCount = std::max(streamCount, it->stream() + 1);
      if (it->op() == fb::Opcode::Record || it->op() == fb::Opcode::Wait)
        events = std::max(events, static_cast<int>(it->target()) + 1);
    }
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
int64_t persistentEnd(const Plan &plan, const Tables &tables, uint32_t stage) {
  int64_t end = 0;
  for (const auto *table : tables) {
    int64_t offset = persistentOffset(*table, stage);
    if (offset >= 0)
      end = std::max(end, offset + plan.type(table->type()).localBytes());
  }
  return end;
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

/// Scratch begins on a page of its own, so that every offset within it is as
/// aligned as the plan made it.
constexpr int64_t kArenaAlignment = 4096;

} // namespace

Status Executor::allocate() {
  const fb::Plan &table = plan.table();
  int64_t end = std::max(persistentEnd(plan, *table.parameters(), stage_),
                         persistentEnd(plan, *table.states(), stage_));
  scratch = (end + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  uint64_t peak = table.memory()->Get(stage_)->arena_peak();
  TANDEM_ASSIGN(arena, device.allocate(static_cast<size_t>(scratch) + peak));
  return Status();
}

std::byte *Executor::address(const fb::Value &value) const {
  const fb::Plan &table = plan.table();
  switch (value.region()) {
  case fb::Region::Parameter:
    return arena +
           persistentOffset(*table.parameters()->Get(value.index()), stage_);
  case fb::Region::State:
    return arena +
           persistentOffset(*table.states()->Get(value.index()), stage_);
  default:
    return arena + scratch + value.offset();
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
  return layout_.tensor(plan.type(port.type()),
                        address(*program.values()->Get(index)));
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
  for (const std::unique_ptr<Step> &step : entries[entry]) {
    if (step->writesKept && !std::exchange(open, true))
      gate();
    if (step->op == fb::Opcode::Record)
      device.record(step->stream, step->event);
    else if (step->op == fb::Opcode::Wait)
      device.wait(step->stream, step->event);
    else
      device.enqueue(step->stream, step->work);
    for (const ByteRange &range : step->dead)
      device.discard(step->stream, arena + scratch + range.offset, range.bytes);
  }
  Status status = device.synchronize();
  running.store(false, std::memory_order_release);
  return status;
}

Status Executor::execute(Step &step) {
  StreamView &stream = *streams[static_cast<size_t>(step.stream)];
  stream.step.store(&step, std::memory_order_relaxed);
  stream.count.fetch_add(1, std::memory_order_release);
  comm.begin(step.stream, step.activity);
  setCrashActivity(rank(), step.activity.instruction, step.activity.location);
  Status status = guarded([&] { return perform(step); });
  return status.ok() ? status : fail(step, std::move(status));
}

Status Executor::perform(Step &step) {
  if (step.faulty)
    TANDEM_TRY(fault.reach());
  return step.launch ? step.launch->run() : step.collective();
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
    if (!step || (result.launch && !step->launch))
      continue;
    result.launch = step->launch != nullptr;
    result.activity = step->activity;
  }
  return result;
}

} // namespace tandem

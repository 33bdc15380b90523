//===- MpiSession.cpp - This process as one rank of a plan ----------------===//
//
// Rank 0 sends an order before each step: which entry, and its whole inputs,
// of which every rank takes its slices. Outputs that rank 0 does not hold
// itself are gathered to it, and so are the replies to a task. An order to
// close ends the others' serve().
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Guarded.h"
#include "runtime/comm/MpiModule.h"
#include "runtime/session/RankRunner.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace tandem {
namespace {

// Orders that are no entry's number.
constexpr uint32_t kCloseOrder = 0xffffffff;
constexpr uint32_t kTaskOrder = 0xfffffffe;

/// An entry's number and then its inputs' bytes, port by port.
std::string makeOrder(uint32_t entry, const PortTensors &inputs) {
  std::string order(sizeof entry, '\0');
  std::memcpy(&order[0], &entry, sizeof entry);
  for (const HostTensor &tensor : inputs)
    order.append(reinterpret_cast<const char *>(tensor.data.data()),
                 tensor.data.size());
  return order;
}

std::string makeTaskOrder(RankTask task, const std::string &text) {
  std::string order(2 * sizeof kTaskOrder, '\0');
  std::memcpy(&order[0], &kTaskOrder, sizeof kTaskOrder);
  std::memcpy(&order[sizeof kTaskOrder], &task, sizeof task);
  return order + text;
}

/// Fills `inputs` from what follows the entry's number.
Status readOrder(const std::string &order, PortTensors &inputs) {
  size_t at = sizeof(uint32_t);
  for (HostTensor &tensor : inputs) {
    if (order.size() - at < tensor.data.size())
      return Status::rankFailed("an order of rank 0 is too short: the ranks "
                                "run different plans");
    std::memcpy(tensor.data.data(), order.data() + at, tensor.data.size());
    at += tensor.data.size();
  }
  return Status();
}

class MpiSession final : public Session {
public:
  MpiSession(std::shared_ptr<const Plan> plan, int threads, MpiWorld &world,
             const SessionOptions &options)
      : Session(std::move(plan), threads), world(world), options(options) {}

  ~MpiSession() override {
    if (fault_.ok() && !closed) {
      Status status = close();
      (void)status; // Whoever cares has closed before.
    }
    world.forget();
  }

  Status start() {
    world.begin({"load", ""});
    Status own = guarded([&] { return prepare(); });
    if (own.code() == StatusCode::RankFailed)
      world.abort(own);
    TANDEM_TRY(agree(own));
    for (uint32_t e = 0; e < plan_->table().entries()->size(); ++e) {
      inputs.push_back(emptyInputs(*plan_, e));
      gathers.push_back(needsGather(e));
    }
    closed = false;
    return Status();
  }

  int64_t ranksHere() const override { return world.ranksHere(); }
  bool leads() const override { return world.rank() == 0; }

  Status step(uint32_t entry, const PortTensors &tensors,
              PortTensors &outputs) override {
    TANDEM_TRY(fault_);
    std::string order = makeOrder(entry, tensors);
    world.setDeadlineForBytes(true);
    world.begin({"order", nameOf(entry)});
    fault_ = world.broadcast(order);
    if (fault_.ok())
      fault_ = run(entry, tensors, &outputs);
    return fault_;
  }

  Result<std::vector<RankReply>> ask(RankTask task,
                                     const std::string &text) override {
    TANDEM_TRY(fault_);
    std::string order = makeTaskOrder(task, text);
    // Files take the time that they take.
    world.setDeadlineForBytes(false);
    world.begin({"order", ""});
    fault_ = world.broadcast(order);
    TANDEM_TRY(fault_);
    Result<std::vector<RankReply>> replies = performTask(order);
    fault_ = replies.status();
    return replies;
  }

  Status serve() override {
    while (!leads() && !closed) {
      std::string order;
      world.begin({"order", ""});
      fault_ = world.broadcast(order);
      TANDEM_TRY(fault_);
      fault_ = obey(order);
      TANDEM_TRY(fault_);
    }
    return Status();
  }

  Status close() override {
    bool before = closed;
    closed = true;
    if (before || !leads() || !fault_.ok())
      return fault_;
    fault_ = runner.reach("close");
    TANDEM_TRY(fault_);
    std::string order = makeOrder(kCloseOrder, {});
    world.setDeadlineForBytes(false);
    world.begin({"close", ""});
    return world.broadcast(order);
  }

private:
  Status prepare() {
    uint64_t ranksHere = static_cast<uint64_t>(world.ranksHere());
    TANDEM_TRY(checkMemory(*plan_, {world.rank()}, threads_,
                           memoryFor(options) / ranksHere));
    TANDEM_TRY(runner.prepare(*plan_, world.rank(), world.communicator(),
                              options, threads_));
    if (!options.loadWeights || plan_->table().parameters()->size() == 0)
      return Status();
    TANDEM_ASSIGN(Weights weights, weightsFor(*plan_, options));
    LoadProgress progress;
    TANDEM_TRY(runner.load(*plan_, weights, progress));
    if (options.progress)
      options.progress(progress.done, progress.total);
    return Status();
  }

  const char *nameOf(uint32_t entry) const {
    return plan_->table().entries()->Get(entry)->name()->c_str();
  }

  /// The first refusal of any rank, on all of them: rank 0 has the message,
  /// which names the rank where not all refuse, the others leave without a
  /// word.
  Status agree(const Status &own) {
    std::string text;
    if (!own.ok())
      text = static_cast<char>(own.code()) + own.toString();
    TANDEM_ASSIGN(std::vector<std::string> all, world.gather(text));
    auto refused = [](const std::string &each) { return !each.empty(); };
    auto found = std::find_if(all.begin(), all.end(), refused);
    std::string first = found == all.end() ? "" : *found;
    if (!first.empty() && !std::all_of(all.begin(), all.end(), refused))
      first += " (rank " + std::to_string(found - all.begin()) + ")";
    TANDEM_TRY(world.broadcast(first));
    if (first.empty())
      return Status();
    return Status(static_cast<StatusCode>(static_cast<uint8_t>(first[0])),
                  world.rank() == 0 ? first.substr(1) : "");
  }

  bool needsGather(uint32_t entry) const {
    const fb::Entry &table = *plan_->table().entries()->Get(entry);
    for (uint32_t port = 0; port < table.outputs()->size(); ++port)
      for (int64_t rank : givers(*plan_, entry, port))
        if (rank != 0)
          return true;
    return false;
  }

  Status obey(const std::string &order) {
    uint32_t entry = kCloseOrder;
    if (order.size() >= sizeof entry)
      std::memcpy(&entry, order.data(), sizeof entry);
    // Once rank 0 has begun it goes from step to step; before and after, it
    // may read, compile and write for as long as it likes.
    world.setDeadlineForBytes(entry != kCloseOrder && entry != kTaskOrder);
    if (entry == kCloseOrder) {
      closed = true;
      return runner.reach("close");
    }
    if (entry == kTaskOrder)
      return performTask(order).status();
    if (entry >= inputs.size())
      return Status::rankFailed("rank 0 asked for entry " +
                                std::to_string(entry) +
                                ": the ranks run different plans");
    TANDEM_TRY(readOrder(order, inputs[entry]));
    return run(entry, inputs[entry], nullptr);
  }

  /// What an order of makeTaskOrder asks for; on rank 0 all replies.
  Result<std::vector<RankReply>> performTask(const std::string &order) {
    RankTask task = RankTask::AwaitShard;
    if (order.size() < sizeof kTaskOrder + sizeof task)
      return Status::rankFailed("an order of rank 0 is too short: the ranks "
                                "run different builds");
    std::memcpy(&task, &order[sizeof kTaskOrder], sizeof task);
    RankReply reply =
        runner.perform(task, order.substr(sizeof kTaskOrder + sizeof task));
    if (reply.status().code() == StatusCode::RankFailed)
      return reply.status();
    world.begin({"replies", ""});
    TANDEM_ASSIGN(std::vector<std::string> all, world.gather(packReply(reply)));
    std::vector<RankReply> replies;
    for (const std::string &each : all)
      replies.push_back(unpackReply(each));
    return replies;
  }

  Status run(uint32_t entry, const PortTensors &tensors, PortTensors *outputs) {
    TANDEM_TRY(runner.step(entry, tensors));
    const PortSlices &slices = runner.slices(entry);
    if (outputs)
      slices.giveOutputs(*outputs);
    if (!gathers[entry])
      return Status();
    world.begin({"outputs", nameOf(entry)});
    TANDEM_ASSIGN(std::vector<std::string> all,
                  world.gather(world.rank() == 0 ? "" : slices.packOutputs()));
    for (size_t rank = 1; outputs && rank < all.size(); ++rank)
      TANDEM_TRY(PortSlices::unpackOutputs(
          *plan_, entry, static_cast<int64_t>(rank), all[rank], *outputs));
    return Status();
  }

  MpiWorld &world;
  SessionOptions options;
  RankRunner runner;
  std::vector<PortTensors> inputs; ///< Room for what orders bring.
  std::vector<bool> gathers;
  bool closed = true; ///< Until all ranks have started.
};

/// Binding leaves a process its own CPUs; without, ranks share the machine's.
int mpiThreads(const MpiWorld &world) {
  int64_t machine = std::max(1u, std::thread::hardware_concurrency());
  int64_t share = std::max<int64_t>(1, machine / world.ranksHere());
  return static_cast<int>(std::min<int64_t>(defaultThreads(1), share));
}

} // namespace

Result<std::unique_ptr<Session>>
createMpiSession(std::shared_ptr<const Plan> plan, MpiWorld &world,
                 const SessionOptions &options) {
  if (world.size() != plan->numRanks())
    return Status::usage("the plan has " + std::to_string(plan->numRanks()) +
                         " ranks, the launcher started " +
                         std::to_string(world.size()) + " processes");
  int threads = options.threads > 0 ? options.threads : mpiThreads(world);
  if (options.threads > 0 && world.rank() == 0)
    warnOfTooManyThreads(threads, 1);
  auto session = std::make_unique<MpiSession>(plan, threads, world, options);
  TANDEM_TRY(session->start());
  return std::unique_ptr<Session>(std::move(session));
}

} // namespace tandem

//===- MemoryTest.cpp - What is foretold is what is allocated -------------===//

#include "runtime/exec/Workspace.h"
#include "runtime/plan/LivePeak.h"
#include "runtime/plan/MemoryLimit.h"
#include "test/unit/exec/LocalRanks.h"
#include "test/unit/exec/MlpSketch.h"
#include "test/unit/exec/PipelineSketch.h"

#include <gtest/gtest.h>
#include <numeric>

namespace tandem {
namespace {

/// A cpu device that notes what is asked of it.
class NotingDevice final : public Device {
public:
  explicit NotingDevice(int threads) : inner(createCpuDevice(threads)) {}

  const char *name() const override { return inner->name(); }
  Result<std::byte *> allocate(size_t bytes) override {
    allocations.push_back(bytes);
    return inner->allocate(bytes);
  }
  Status prepare(int streams, int events) override {
    return inner->prepare(streams, events);
  }
  void enqueue(int stream, const HostWork &work) override {
    inner->enqueue(stream, work);
  }
  void record(int stream, int event) override { inner->record(stream, event); }
  void wait(int stream, int event) override { inner->wait(stream, event); }
  Status synchronize() override { return inner->synchronize(); }
  void abort(const Status &status) override { inner->abort(status); }
  ThreadPool &threads() override { return inner->threads(); }

  uint64_t sum() const {
    return std::accumulate(allocations.begin(), allocations.end(), size_t(0));
  }
  std::vector<size_t> allocations;

private:
  std::unique_ptr<Device> inner;
};

/// What every rank of `plan` takes is what is said before, to the byte.
void expectForetold(const Plan &plan, int threads) {
  auto comms = createLocalCommunicators(plan.numRanks(), 10);
  std::vector<uint64_t> workspace = workspaceByStage(plan, threads);
  // Groups are made by all ranks together.
  std::vector<std::thread> ranks;
  for (int64_t rank = 0; rank < plan.numRanks(); ++rank)
    ranks.emplace_back([&, rank] {
      NotingDevice device(threads);
      auto executor = Executor::create(plan, rank, device,
                                       *comms[static_cast<size_t>(rank)]);
      ASSERT_TRUE(executor.ok()) << executor.status().message();
      uint32_t stage = plan.stageOf(rank);
      EXPECT_EQ(device.sum(), arenaBytes(plan, stage) + workspace[stage]);
      EXPECT_EQ((*executor)->allocated(), device.sum());
      // One arena, and one workspace at most for each stream.
      EXPECT_EQ(device.allocations[0], arenaBytes(plan, stage));
    });
  for (std::thread &rank : ranks)
    rank.join();
}

TEST(Memory, IsForetoldToTheByte) {
  for (int threads : {1, 3}) {
    for (int64_t tp : {1, 2, 3})
      expectForetold(Mlp().tensorParallel(tp), threads);
    for (bool streams : {false, true}) {
      Pipeline pipeline;
      pipeline.streams = streams;
      pipeline.order = streams ? Pipeline::Order::OneForwardOneBackward
                               : Pipeline::Order::GPipe;
      if (!streams)
        pipeline.microbatches = 1;
      expectForetold(pipeline.sketch().finish(), threads);
    }
  }
}

TEST(Memory, WorkspaceIsThatOfTheWidestLaunch) {
  // Of both products the one that sums over more has more.
  Mlp mlp;
  Plan plan = mlp.tensorParallel(1);
  const Kernel *einsum = findKernel("einsum");
  RankLayout layout{plan.mesh(), 0};
  int64_t most = 0;
  for (uint32_t i = 0; i < plan.table()
                               .entries()
                               ->Get(0)
                               ->programs()
                               ->Get(0)
                               ->instructions()
                               ->size();
       ++i) {
    Step step(plan, *plan.table().entries()->Get(0), 0, i);
    if (step.op() == fb::Opcode::Launch && step.what() == einsum->name())
      most = std::max(most, einsum->workspaceBytes(
                                callOf(step, layout,
                                       [](const fb::Value &) -> std::byte * {
                                         return nullptr;
                                       }),
                                5));
  }
  EXPECT_GT(most, 0);
  EXPECT_EQ(workspaceByStream(plan, 0, 5), std::vector<int64_t>({most}));
}

/// How many microbatches' values `name` stands for at the peak.
uint32_t inFlight(Pipeline::Order order, const std::string &name) {
  Pipeline pipeline;
  pipeline.order = order;
  LivePeak peak = livePeak(pipeline.sketch().finish(), 0);
  for (const LiveTensor &tensor : peak.tensors)
    if (tensor.name.rfind(name, 0) == 0)
      return tensor.count;
  return 0;
}

TEST(Memory, PeakCountsMicrobatchesInFlight) {
  // gpipe keeps all 3, 1f1b as many as there are stages behind and its own.
  EXPECT_EQ(inFlight(Pipeline::Order::GPipe, "einsum"), 3u);
  EXPECT_EQ(inFlight(Pipeline::Order::OneForwardOneBackward, "einsum"), 2u);
}

} // namespace
} // namespace tandem

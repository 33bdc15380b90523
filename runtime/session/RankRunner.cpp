#include "runtime/session/RankRunner.h"

#include "runtime/exec/Workspace.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/MemoryLimit.h"
#include "runtime/session/CheckpointShards.h"
#include "runtime/session/TraceFile.h"

#include <algorithm>
#include <cstdlib>

namespace tandem {

Status RankRunner::prepare(const Plan &plan, int64_t rank,
                           Communicator &communicator,
                           const SessionOptions &options, int threads) {
  this->plan = &plan;
  if (options.device == "cpu")
    device = createCpuDevice(threads);
  else if (options.device == "chaos")
    device =
        createChaosDevice(threads, options.seed + static_cast<uint64_t>(rank));
  else
    return Status::usage("no device '" + options.device +
                         "'; there are cpu and chaos");
  TANDEM_ASSIGN(fault, FaultPoint::fromEnvironment());
  TANDEM_ASSIGN(executor_, Executor::create(plan, rank, *device, communicator));
  for (uint32_t e = 0; e < plan.table().entries()->size(); ++e)
    entries.emplace_back(plan, e, *executor_);
  shards = std::make_unique<ShardWriter>(plan, *executor_, fault,
                                         options.deadlineSeconds);
  executor_->setGate([this] { return shards->awaitRead(); });
  return Status();
}

Status RankRunner::load(const Plan &plan, const Weights &weights,
                        LoadProgress &progress) {
  return loadWeights(plan, weights, *executor_, fault, device->threads(),
                     progress);
}

Status RankRunner::reach(std::string_view kind) {
  return fault.reach(executor_->rank(), kind);
}

Status RankRunner::step(uint32_t entry, const PortTensors &inputs) {
  entries[entry].placeInputs(inputs);
  return executor_->run(entry);
}

RankReply RankRunner::perform(RankTask task, const std::string &text) {
  switch (task) {
  case RankTask::WriteShard:
    TANDEM_TRY(shards->begin(text));
    return std::string();
  case RankTask::AwaitShard:
    return shards->reply(text == kWaitForShard);
  case RankTask::CheckShards:
    TANDEM_TRY(checkShards(*plan, executor_->rank(), text));
    return std::string();
  case RankTask::LoadShards:
    TANDEM_TRY(loadShards(*plan, *executor_, text));
    return std::string();
  case RankTask::BeginTrace:
    executor_->trace(std::strtoull(text.c_str(), nullptr, 10));
    return std::string();
  case RankTask::TakeTrace:
    return traceText(*executor_);
  }
  return Status::rankFailed("rank 0 asked for task " +
                            std::to_string(static_cast<uint32_t>(task)) +
                            ": the ranks run different builds");
}

Result<Weights> weightsFor(const Plan &plan, const SessionOptions &options) {
  if (options.init)
    return drawnWeights(*options.init);
  if (plan.table().sources()->size() == 0 && options.weights.empty())
    return Status::refused("the plan names no files of weights, for it was "
                           "compiled from a configuration alone; compile it "
                           "with its weights, or train a new model with "
                           "--init SEED");
  return openWeights(plan, options.weights);
}

Status checkMemory(const Plan &plan, const std::vector<int64_t> &ranks,
                   int threads, uint64_t available) {
  std::vector<uint64_t> workspace = workspaceByStage(plan, threads);
  uint64_t need = 0, most = 0;
  uint32_t fullest = 0;
  for (int64_t rank : ranks) {
    uint32_t stage = plan.stageOf(rank);
    uint64_t own = arenaBytes(plan, stage) + workspace[stage];
    need += own;
    if (own > most)
      fullest = stage;
    most = std::max(most, own);
  }
  if (need <= available)
    return Status();
  return Status::refused(
      "the plan needs " + bytesText(need) + " of memory for the " +
      std::to_string(ranks.size()) + (ranks.size() == 1 ? " rank" : " ranks") +
      " of this process, " + bytesText(available) +
      " are left: " + std::to_string(need - available) +
      " bytes too many; nothing was loaded. The fullest rank has " +
      memoryParts(plan, fullest, workspace[fullest]) + "; " +
      peakText(plan, fullest) +
      ". Compile with a smaller --dtype or --max-seq, with --recompute or "
      "--zero for training, or for more ranks and start them on more machines");
}

} // namespace tandem

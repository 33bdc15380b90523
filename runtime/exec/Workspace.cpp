#include "runtime/exec/Workspace.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

/// What the plan gives an instruction.
int64_t givenTo(const Step &step) {
  uint32_t workspace = step.workspace();
  return workspace == kNone
             ? 0
             : static_cast<int64_t>(step.value(workspace).bytes());
}

int64_t wantedBy(const Step &step, const RankLayout &layout, int threads) {
  if (step.op() == fb::Opcode::Record || step.op() == fb::Opcode::Wait)
    return 0;
  if (step.op() != fb::Opcode::Launch)
    return workspaceBytes(exchangeOf(step));
  const Kernel *kernel = findKernel(step.what());
  KernelCall call = callOf(
      step, layout, [](const fb::Value &) -> std::byte * { return nullptr; });
  if (!kernel || !kernel->check(call).ok())
    return 0;
  return kernel->workspaceBytes(call, threads);
}

} // namespace

CollectiveCall exchangeOf(const Step &step) {
  const fb::Instruction &it = step.instruction();
  CollectiveCall call;
  call.op = it.op();
  call.reduction = static_cast<ReductionKind>(it.reduction());
  call.dim = call.lane = it.dim();
  call.fromDim = it.from_dim();
  call.channel = it.stream();
  call.target = it.target();
  call.axes = step.axes();
  // A send has no result and a receive no operand.
  call.from = step.movedType();
  call.to = step.outputs() ? step.outputType(0) : step.inputType(0);
  return call;
}

std::vector<int64_t> workspaceByStream(const Plan &plan, uint32_t stage,
                                       int threads) {
  std::vector<int64_t> most;
  RankLayout layout{plan.mesh(), plan.rankOfStage(stage)};
  for (const fb::Entry *entry : *plan.table().entries())
    (void)walkInstructions(plan, *entry, stage, [&](const Step &step) {
      size_t stream = step.instruction().stream();
      most.resize(std::max(most.size(), stream + 1), 0);
      int64_t wanted = wantedBy(step, layout, threads);
      if (wanted > givenTo(step))
        most[stream] = std::max(most[stream], wanted);
      return Status();
    }).ok();
  return most;
}

std::vector<uint64_t> workspaceByStage(const Plan &plan, int threads) {
  std::vector<uint64_t> sums;
  for (uint32_t stage = 0; stage < plan.stages(); ++stage) {
    std::vector<int64_t> most = workspaceByStream(plan, stage, threads);
    sums.push_back(static_cast<uint64_t>(
        std::accumulate(most.begin(), most.end(), int64_t(0))));
  }
  return sums;
}

} // namespace tandem

//===- Workspace.h - What kernels want beside the arena ---------*- C++ -*-===//
//
// A kernel's workspace is a formula of capacities, types and threads, so that
// the plan cannot hold it and yet it is known before anything runs. One stream
// runs one instruction at a time: it has the largest that any of its
// instructions wants beyond what the plan gives it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_WORKSPACE_H
#define TANDEM_RUNTIME_EXEC_WORKSPACE_H

#include "runtime/exec/CollectiveCall.h"
#include "runtime/plan/Walk.h"

namespace tandem {

/// A launch on tensors at `address(value)`, without workspace.
template <typename Address>
KernelCall callOf(const Step &step, const RankLayout &layout,
                  const Address &address) {
  const Plan &plan = step.plan();
  const fb::Instruction &it = step.instruction();
  KernelCall call;
  for (uint32_t a = 0; a < uint32_t(it.inputs()) + it.outputs(); ++a) {
    const fb::Value &value = plan.argument(step.program(), it, a);
    (a < it.inputs() ? call.inputs : call.outputs)
        .push_back(layout.tensor(plan.type(value.type()), address(value)));
  }
  call.rule = plan.rule(it.rule());
  call.numbers = step.numbers();
  return call;
}

/// A collective or transfer, without addresses and workspace; a transfer's
/// target is the other end's `pp` coordinate.
CollectiveCall exchangeOf(const Step &step);

/// By stream: bytes that a rank of `stage` needs beside the arena where its
/// kernels have `threads`. What no kernel accepts counts nothing.
std::vector<int64_t> workspaceByStream(const Plan &plan, uint32_t stage,
                                       int threads);
/// By stage: of all streams together.
std::vector<uint64_t> workspaceByStage(const Plan &plan, int threads);

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_WORKSPACE_H

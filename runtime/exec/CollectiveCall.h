//===- CollectiveCall.h - A collective on tensors, made ready ---*- C++ -*-===//
//
// Communicators move contiguous pieces; a plan's collectives split and join
// tensors along a dimension, unevenly where sizes do not divide. In between
// lies a copy into or out of the workspace:
//
//   all_gather of dimension 1, two ranks that hold 3 and 2 of 5 columns:
//
//     in  a b c | d e .     workspace  [a b c f g h][d e . i j .]
//         f g h | i j .     out        a b c d e
//                                      f g h i j
//
// Where the pieces already lie one behind the other (a leading dimension that
// divides evenly) the communicator works on the tensors themselves.
//
// Workspace, in this order, each part only where needed:
//   all_reduce      Communicator::allReduceWorkspaceBytes
//   all_gather      received pieces
//   reduce_scatter  pieces to send, then the communicator's own
//   all_to_all      pieces to send, received pieces
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_COLLECTIVECALL_H
#define TANDEM_RUNTIME_EXEC_COLLECTIVECALL_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/RankLayout.h"
#include "runtime/plan/plan_generated.h"

namespace tandem {

struct CollectiveCall {
  fb::Opcode op = fb::Opcode::AllReduce;
  ReductionKind reduction = ReductionKind::Sum;
  size_t dim = 0;
  size_t fromDim = 0;
  int channel = 0;
  int lane = 0;       ///< Of a send or receive.
  int64_t target = 0; ///< Broadcast: root; Send, Recv: the peer's rank.
  AxisList axes;
  TensorType from; ///< Type of `in`.
  TensorType to;   ///< Type of `out`.
  std::byte *in = nullptr;
  std::byte *out = nullptr;
  std::byte *workspace = nullptr;
  int64_t workspaceBytes = 0;
};

/// Whether an instruction of this kind is one of these.
bool isCollective(fb::Opcode op);

/// Workspace that `call` needs, the same on all ranks.
int64_t workspaceBytes(const CollectiveCall &call);

/// The work that runs `call` as `layout.rank`; makes its group. Refuses what
/// cannot be run: a permute without a unique source, too little workspace.
Result<HostWork> prepareCollective(const CollectiveCall &call,
                                   const RankLayout &layout,
                                   Communicator &communicator);

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_COLLECTIVECALL_H

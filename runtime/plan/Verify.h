//===- Verify.h - Proof that a plan means what it should --------*- C++ -*-===//
//
// What it is: the check between loading a plan and running it. It refuses
//
//   types      a launch or collective whose result is not what its rule
//              derives; values that differ from what entries, parameters and
//              states declare: a dropped, doubled, resized or mis-axed
//              collective, though all ranks agree on it
//   memory     a value read when its bytes are not its own, or raced for by
//              two streams; parameters and states that overlap; memory other
//              than declared, or above what is allowed
//   progress   sends and collectives across stages that do not match, are
//              exchanged or wait for each other
//   slices     views that leave their stored tensor
//   uses       results that nobody reads, parameters and states that no
//              instruction uses
//
// It takes on trust what no type can tell apart: attributes of kernels, which
// of several values, parameters or dimensions of one type is meant, and names.
//
// The first failure is returned; its message names entry, pp coordinate,
// instruction and location. Costs time in instructions, not in ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_VERIFY_H
#define TANDEM_RUNTIME_PLAN_VERIFY_H

#include "runtime/plan/Plan.h"

namespace tandem {

struct VerifyOptions {
  uint64_t memoryBytes = 0; ///< What one rank may use; 0 for no limit.
  /// What kernels want beside the arena, by stage (exec/Workspace.h).
  std::vector<uint64_t> workspace;
};

Status verify(const Plan &plan, const VerifyOptions &options = {});

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_VERIFY_H

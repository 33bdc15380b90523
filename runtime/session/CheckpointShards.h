//===- CheckpointShards.h - A rank's part of a checkpoint -------*- C++ -*-===//
//
// Which boxes of which tensors a rank writes, and how it finds its own again
// in what another layout wrote. Every element is written by one rank: the
// lowest that holds it, in whatever stage.
//
//   w [7, 4] over dp=2,tp=2, rows split by tp
//     rank 0 writes rows 0-3, rank 1 rows 4-6, ranks 2 and 3 nothing
//
// A parameter is found by the view of the stored tensor that it is, a state
// by its name.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_CHECKPOINTSHARDS_H
#define TANDEM_RUNTIME_SESSION_CHECKPOINTSHARDS_H

#include "runtime/exec/Executor.h"
#include "runtime/files/checkpoint/Manifest.h"

namespace tandem {

/// The tensors that a checkpoint of `plan` holds: each view of a stored
/// tensor once, and the states.
std::vector<CheckpointTensor> checkpointTensors(const Plan &plan);

/// A box of a tensor and where a rank has it.
struct HeldPiece {
  CheckpointTensor tensor;
  Box box;
  TensorArg place;
};

/// What `executor`'s rank writes, in the plan's order.
std::vector<HeldPiece> ownedPieces(const Plan &plan, const Executor &executor);

/// Whether `rank`, whose stage is one of `stages`, is the lowest of those that
/// hold its box of a tensor of `type`. No rank owns an empty box.
bool ownsPiece(const Plan &plan, const TensorType &type,
               const std::vector<uint32_t> &stages, int64_t rank);

/// Compares this rank's share of the shards of the checkpoint at `path` with
/// their checksums.
Status checkShards(const Plan &plan, int64_t rank, const std::string &path);

/// Fills the rank's parameters and states from the checkpoint at `path`.
/// Refuses one of another model or optimizer, naming the first difference.
Status loadShards(const Plan &plan, Executor &executor,
                  const std::string &path);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_CHECKPOINTSHARDS_H

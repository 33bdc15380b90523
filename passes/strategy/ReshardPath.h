//===- ReshardPath.h - The cheapest collectives between layouts -*- C++ -*-===//
//
// What it is: given how a tensor lies and how it should lie, the sequence of
// collectives with the fewest wire bytes a device among those that
// all_reduce, reduce_scatter, all_to_all, all_gather, all_slice and a final
// permute can form; ties go to fewer collectives.
//
//   f32[16x16x16] [{"y"}, {}, {"x"}] -> [{}, {"x", "y"}, {}], x=4, y=2
//     all_to_all over x from 2 to 1    1536 bytes
//     all_to_all over y from 0 to 1    1024 bytes
//
// A step never splits a dimension in a way that the goal does not continue,
// so the search is small and exact within these moves (uniform-cost search).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_RESHARDPATH_H
#define TANDEM_PASSES_STRATEGY_RESHARDPATH_H

#include "runtime/mesh/Collectives.h"

namespace tandem {

struct ReshardStep {
  Collective collective;
  TensorType result;
};

struct ReshardPath {
  std::vector<ReshardStep> steps; ///< Empty when the layouts agree.
  int64_t wireBytes = 0;          ///< Sent by one device.
};

/// The path from `from` to `to`, which have one element type and shape.
/// Refuses a goal that is unreduced over axes over which `from` is not.
Result<ReshardPath> planReshard(const TensorType &from, const TensorType &to,
                                const Mesh &mesh);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_RESHARDPATH_H

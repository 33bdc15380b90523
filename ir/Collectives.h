//===- Collectives.h - What collectives do to a layout ----------*- C++ -*-===//
//
// A collective changes how a tensor lies on the mesh and nothing else:
//
//   all_reduce     over A          unreduced A -> reduced
//   all_gather     over A, dim d   d split by (..., A) -> (...)
//   reduce_scatter over A, dim d   unreduced A -> d split by (..., A)
//   all_to_all     over A, e to d  e split by (..., A) -> (...), d by (..., A)
//   all_slice      over A, dim d   d split by (...) -> (..., A)
//   broadcast      over A, root    unchanged
//   permute        over A          to any layout of the same local shape
//
// The verifiers check operations with this function, and the partitioner
// makes their result types with it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_COLLECTIVES_H
#define TANDEM_IR_COLLECTIVES_H

#include "runtime/mesh/Sharding.h"

#include <optional>

namespace tandem {

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  AllSlice,
  Permute,
  Broadcast,
};

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  AxisList axes;
  int64_t dim = 0;     ///< d above.
  int64_t fromDim = 0; ///< e above.
};

/// `all_reduce` and so on.
std::string_view nameOf(CollectiveKind kind);

/// The layout that the collective makes of `input`, or why it cannot run on
/// it. Not for `permute`, whose result does not follow from its operand.
Result<Sharding> resultSharding(const Collective &collective,
                                const Sharding &input, const Mesh &mesh);

/// Whether a permute can turn `input` into `output` of a tensor of `shape`:
/// equal local shapes, unreduced axes and numbers of pieces.
Status checkPermute(const Sharding &input, const Sharding &output,
                    const std::vector<int64_t> &shape, const Mesh &mesh);

/// What remains of `axes` (a set) without `removed`; nothing when some
/// position of `removed` is not in `axes`.
std::optional<AxisList> withoutAxes(const AxisList &axes,
                                    const AxisList &removed);
/// What remains of `axes` (major to minor) in front of the trailing `suffix`;
/// nothing when it does not end so.
std::optional<AxisList> withoutSuffix(const AxisList &axes,
                                      const AxisList &suffix);

} // namespace tandem

#endif // TANDEM_IR_COLLECTIVES_H

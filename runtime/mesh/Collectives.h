//===- Collectives.h - What each collective means and costs -----*- C++ -*-===//
//
// What it is: the one table of collectives. Cost, partitioner, verifier,
// counters and the executor read it; nobody else states these rules.
//
// A collective changes how a tensor lies on the mesh, never its value. With
// n ranks in a group (those that differ along `axes` A), b bytes of the
// operand on one rank, ring algorithms:
//
//   collective      type of the tensor                  steps   wire bytes
//   all_reduce      unreduced A -> reduced              2(n-1)  2(n-1)/n b
//   all_gather      dim (..., A) -> (...)               n-1     (n-1) b
//   reduce_scatter  unreduced A -> dim (..., A)         n-1     (n-1)/n b
//   all_to_all      from_dim (..., A) -> (...),         n-1     (n-1)/n b
//                   dim (...) -> (..., A)
//   all_slice       dim (...) -> (..., A)               0       0
//   permute         to another split, equal local       1       b
//                   shape
//   broadcast       unchanged; from position `root`     n-1     b
//   send, recv      unchanged; between stages           1       b
//
// Bytes are of capacities and per device; a broken byte rounds up. An
// all_gather's b is the shard.
//
//   f32[4x8] [{}, {}], unreduced={"tp"}, tp=2:  all_reduce over {"tp"}
//     operand 128 bytes, 2 steps, 128 bytes on the wire, f32[4x8] [{}, {}]
//
// Workspace, each part only where it is needed, in this order:
//
//   all_reduce      n pieces of ceil(elements / n), what the communicator
//                   sums in
//   all_gather      received [n][operand's local shape], unless the result
//                   is these one behind the other
//   reduce_scatter  packed [n][result's local shape], unless the operand is
//                   these one behind the other; then as much to sum in
//   all_to_all      packed [n][piece], received [n][piece]; a piece has the
//                   operand's local shape with `dim` as in the result
//
// "One behind the other": all dimensions before the split one have the local
// size 1, and n pieces fill it without padding. Piece i belongs to position i
// of the group; within it rows keep their order, padding is at the end of the
// split dimension.
//
// Uneven: gathering over A is local only if A was a whole entry of the list
// of axes; see sameSplit in runtime/mesh/Sharding.h. The rules refuse what
// would mix pieces.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_MESH_COLLECTIVES_H
#define TANDEM_RUNTIME_MESH_COLLECTIVES_H

#include "runtime/mesh/TensorType.h"

namespace tandem {

/// Numbers are those of the schema's Opcode.
enum class CollectiveKind : uint8_t {
  AllReduce = 1,
  AllGather = 2,
  ReduceScatter = 3,
  AllToAll = 4,
  AllSlice = 5,
  Permute = 6,
  Broadcast = 7,
  Send = 8,
  Recv = 9,
};

/// `all_reduce`, ...
const char *name(CollectiveKind kind);

/// One collective without its operand.
struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  AxisList axes;      ///< A; empty for send and recv.
  size_t dim = 0;     ///< See the table.
  size_t fromDim = 0; ///< All_to_all only.
  ReductionKind reduction = ReductionKind::Sum;
};

/// The type of the result. Refuses an operand that the collective does not
/// fit, naming both. Not for permute and recv, whose result is declared.
Result<TensorType> resultType(const Collective &collective,
                              const TensorType &operand, const Mesh &mesh);

/// Whether `collective` turns `from` into `to`: as derived, or for permute,
/// whether every piece of `to` exists in the group, as often as it is wanted.
Status checkCollective(const Collective &collective, const TensorType &from,
                       const TensorType &to, const Mesh &mesh);

struct Traffic {
  int64_t steps = 0;
  int64_t bytes = 0;     ///< b above.
  int64_t wireBytes = 0; ///< Sent by one device.
};

/// Steps and bytes of one instance whose operand has `bytes` on one rank, in
/// a group of `ranks`.
Traffic trafficOf(CollectiveKind kind, int64_t ranks, int64_t bytes);

/// Bytes of workspace, as the file's comment says.
int64_t workspaceBytes(const Collective &collective, const TensorType &from,
                       const TensorType &to);

/// Takes `part`, axes in any order, out of the set `axes`; nothing where it
/// is not all in it.
std::optional<AxisList> withoutAxes(const AxisList &axes, const AxisList &part);
/// Takes the last axes off a list; nothing where it does not end with them.
std::optional<AxisList> withoutSuffix(const AxisList &axes,
                                      const AxisList &suffix);

} // namespace tandem

#endif // TANDEM_RUNTIME_MESH_COLLECTIVES_H

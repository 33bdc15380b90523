//===- LinkBytes.h - What an entry puts on which links ----------*- C++ -*-===//
//
// A rank's number is its row-major index over the mesh, and ranks with
// neighbouring numbers share a node. So the mesh says which groups stay in a
// node of n ranks: the axes from the last to the first of a group cover a run
// of ranks, and where such runs tile the node, no group leaves it.
//
//   mesh pp=2,dp=2,tp=4, nodes of 8:  tp covers 4, dp and tp 8: in a node
//                                     pp covers 16: between nodes
//
// A group that leaves its node anywhere counts as between nodes, whole: its
// slowest link decides.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_LINKBYTES_H
#define TANDEM_RUNTIME_PLAN_LINKBYTES_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// What machines with accelerators mostly have.
constexpr int64_t kNodeRanks = 8;

/// Whether every group over `axes` lies in one node of `nodeRanks`.
bool staysInNode(const Mesh &mesh, const AxisList &axes, int64_t nodeRanks);

/// Bytes on the wire in one call of an entry, for one set of axes.
struct LinkBytes {
  AxisList axes; ///< `pp` for what goes between stages.
  bool inNode = false;
  /// Of a rank of the stage that puts most there.
  int64_t ofRank = 0;
  int64_t ofAllRanks = 0;
};

/// In node first, then by bytes.
std::vector<LinkBytes> linkBytesOf(const Plan &plan, const fb::Entry &entry,
                                   int64_t nodeRanks);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_LINKBYTES_H

//===- Sharding.h - How one tensor lies on a mesh ---------------*- C++ -*-===//
//
// What it is: per dimension the axes that split it, major to minor, and the
// axes over which the tensor is *unreduced*: each rank holds a term, the
// tensor is their sum.
//
//   [{"dp"}, {}, {"tp"}]            dimension 0 over dp, dimension 2 over tp
//   [{"dp", ?}, {?}]                open: propagation may add axes behind
//   [{"tp":(1)2}p1, {}]             a part of an axis; user priority 1
//   [{}, {}], replicated={"tp"}     tp may not be used by propagation
//   [{}, {}], unreduced={"tp"}      a sum over tp is still to be formed
//
// Uneven sizes: axes split a dimension one after another, major to minor, a
// piece of capacity c into pieces of ceil(c / size), clipped to what is
// there. A dimension of 10 over x=2,y=2 (capacity 5, then 3):
//
//   coordinates  (0,0)  (0,1)  (1,0)  (1,1)
//   begin         0      3      5      8
//   extent        3      2      3      2
//
// so that gathering over y gives each x its piece of 5 whole: this is why the
// rule is not "ceil(10 / 4) each", which would mix the pieces.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_MESH_SHARDING_H
#define TANDEM_RUNTIME_MESH_SHARDING_H

#include "runtime/mesh/Mesh.h"

namespace tandem {

struct DimSharding {
  AxisList axes;
  bool open = false;
  int32_t priority = 0; ///< User priority, 0 the strongest.

  bool operator==(const DimSharding &other) const {
    return axes == other.axes && open == other.open &&
           priority == other.priority;
  }
};

struct Sharding {
  std::vector<DimSharding> dims;
  AxisList replicated;
  AxisList unreduced;

  static Sharding replicatedOver(size_t rank) {
    Sharding result;
    result.dims.resize(rank);
    return result;
  }
  bool operator==(const Sharding &other) const {
    return dims == other.dims && replicated == other.replicated &&
           unreduced == other.unreduced;
  }
  bool operator!=(const Sharding &other) const { return !(*this == other); }
  /// Whether ranks hold the same bytes of a tensor that splits evenly: splits
  /// and unreduced axes agree, however parts of an axis are spelled; axes of
  /// size 1, openness,
  /// priorities and replicated axes do not matter. See also sameSplit.
  bool sameLayout(const Sharding &other) const;
  /// Whether nothing is split and nothing unreduced.
  bool isReplicated() const;
};

/// What one rank holds of one dimension.
struct Extent {
  int64_t begin = 0;    ///< First index of the dimension that it holds.
  int64_t size = 0;     ///< How many it holds (the valid extent).
  int64_t capacity = 0; ///< Room for how many, the same on all ranks.
};

/// The capacity of a dimension of `size` split by `axes`.
int64_t capacityOf(int64_t size, const AxisList &axes);
/// What `rank` holds of a dimension of `size` split by `axes`.
Extent extentOf(int64_t size, const AxisList &axes, const Mesh &mesh,
                int64_t rank);
/// Whether some rank holds less than the capacity.
bool isPadded(int64_t size, const AxisList &axes);
/// Whether both lists give every rank the same piece of a dimension of `size`.
/// Parts of one axis that follow each other are the whole axis only where the
/// split is even: 10 over ("tp":(1)2, "tp":(2)2) is 3 2 3 2, over "tp" of size
/// 4 it is 3 3 3 1.
bool sameSplit(int64_t size, const AxisList &a, const AxisList &b);
/// The local (capacity) shape of a tensor.
std::vector<int64_t> localShape(const std::vector<int64_t> &shape,
                                const Sharding &sharding);

/// Checks that a sharding fits a tensor of `shape` on `mesh`: as many
/// dimensions, known axes and parts, each position of an axis used once.
/// The message says which is wrong.
Status check(const Sharding &sharding, size_t rank, const Mesh &mesh);

/// Parses the notation of this file's comment.
Result<Sharding> parseSharding(std::string_view text, const Mesh &mesh);
std::string toString(const Sharding &sharding, const Mesh &mesh);

} // namespace tandem

#endif // TANDEM_RUNTIME_MESH_SHARDING_H

//===- RankLayout.h - What one rank holds of a tensor -----------*- C++ -*-===//
//
// Turns a distributed type into this rank's local shape, valid extents and
// begins. One RankLayout a rank; it may also look through another's eyes,
// since everything follows from a rank's coordinates.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_RANKLAYOUT_H
#define TANDEM_RUNTIME_EXEC_RANKLAYOUT_H

#include "runtime/kernels/Kernel.h"
#include "runtime/mesh/TensorType.h"

namespace tandem {

struct RankLayout {
  Mesh mesh;
  int64_t rank = 0;

  Extent extent(const TensorType &type, size_t dim) const {
    return extentOf(type.shape[dim], type.sharding.dims[dim].axes, mesh, rank);
  }
  /// This rank's piece of a tensor that lies at `data`.
  TensorArg tensor(const TensorType &type, std::byte *data) const;
  RankLayout of(int64_t otherRank) const { return {mesh, otherRank}; }
};

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_RANKLAYOUT_H

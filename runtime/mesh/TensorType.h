//===- TensorType.h - A distributed tensor's type ---------------*- C++ -*-===//
//
// What every value of a plan declares: element type, global shape, and how it
// lies on the mesh. The local tensor is dense, row-major, of the capacity
// shape, the same on all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_MESH_TENSORTYPE_H
#define TANDEM_RUNTIME_MESH_TENSORTYPE_H

#include "runtime/base/DType.h"
#include "runtime/mesh/Rule.h"

namespace tandem {

struct TensorType {
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< Global.
  Sharding sharding;
  /// How the terms of an unreduced tensor combine.
  ReductionKind reduction = ReductionKind::Sum;

  /// Whether both say the same of every rank's bytes: parts of axes may be
  /// spelled differently, and `reduction` counts only where unreduced.
  bool operator==(const TensorType &other) const;
  bool operator!=(const TensorType &other) const { return !(*this == other); }

  std::vector<int64_t> localShape() const;
  int64_t localElements() const;
  int64_t localBytes() const;
  /// `f32[8x128] [{"dp"}, {}], unreduced={"tp"}`
  std::string toString(const Mesh &mesh) const;
};

/// Refuses a shape with negative sizes or more than 2^60 bytes, a sharding
/// that does not fit it, and block types whose last dimension is no multiple
/// of a block.
Status check(const TensorType &type, const Mesh &mesh);

} // namespace tandem

#endif // TANDEM_RUNTIME_MESH_TENSORTYPE_H

//===- Layout.h - Reshard paths, each searched once ------------*- C++ -*-===//

#ifndef TANDEM_PASSES_PARTITION_LAYOUT_H
#define TANDEM_PASSES_PARTITION_LAYOUT_H

#include "ir/Dialect.h"
#include "passes/strategy/ReshardPath.h"

#include <map>

namespace tandem {

/// Reshard paths, each searched once.
class ReshardPaths {
public:
  explicit ReshardPaths(const Mesh &mesh) : mesh(mesh) {}
  const Result<ReshardPath> &get(const TensorType &from, const TensorType &to);
  /// Wire bytes of the path; a huge number where there is none.
  int64_t cost(const TensorType &from, const TensorType &to);

private:
  const Mesh &mesh;
  std::map<std::string, Result<ReshardPath>> paths;
};

} // namespace tandem

#endif // TANDEM_PASSES_PARTITION_LAYOUT_H

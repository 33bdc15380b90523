//===- FixedSums.h - Launches whose bits no layout changes ------*- C++ -*-===//
//
// What it is: for a module with `tandem.layout_invariant = C`, the numbers that
// cut a launch's sums into C pieces of the global dimension, and the refusal of
// layouts whose shards end elsewhere.
//
//   einsum "bsf,fd->bsd", f = 80 over tp=2, C = 4
//     numbers [4, bit of f]; a rank holds pieces 0 1 or 2 3, and all_reduce
//     adds (p0 + p1) + (p2 + p3), as one rank does
//
// Of several dimensions that a launch sums over the first ones are cut until
// there are C pieces: which ones follows from global sizes alone.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_EXEC_FIXEDSUMS_H
#define TANDEM_PASSES_EXEC_FIXEDSUMS_H

#include "ir/Dialect.h"

namespace tandem {

class FixedSums {
public:
  /// `pieces` 0: nothing is cut or refused.
  FixedSums(int64_t pieces, const Mesh &mesh) : pieces(pieces), mesh(mesh) {}

  /// Extends the numbers of the launch that stands for `op`. `inputs` and
  /// `outputs` are buffers. Refuses a layout that splits a sum elsewhere.
  mlir::LogicalResult cut(mlir::Operation *op, KernelSpec &spec,
                          const ShardingRule &rule, mlir::ValueRange inputs,
                          mlir::ValueRange outputs) const;
  /// Whether the sum that collective `op` forms is the top of a tree.
  mlir::LogicalResult check(mlir::Operation *op) const;

private:
  int64_t pieces;
  const Mesh &mesh;
};

} // namespace tandem

#endif // TANDEM_PASSES_EXEC_FIXEDSUMS_H

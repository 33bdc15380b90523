//===- Reduce.h - Values of several ranks brought together ------*- C++ -*-===//
//
// The arithmetic of every communicator: operands are combined in one binary
// tree over the order given (rank order), so that what carried them changes no
// bit. An aligned power of two of the operands is a node of the tree: ranks
// that hold parts of one sum make the same of them as one rank that adds its
// parts so (runtime/kernels/PieceCut.h).
//
//   reduceInTree({a, b, c, d, e}):  out[i] = ((a + b) + (c + d)) + e
//
// F16 and BF16 are combined in float and rounded once, at the end; F32 in
// float, F64 in double; integers exactly, sums wrapping around. A NaN in any
// operand gives NaN, for Max and Min too. Bool has Max (or) and Min (and).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_REDUCE_H
#define TANDEM_RUNTIME_COMM_REDUCE_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/mesh/Rule.h"

namespace tandem {

/// `sum`, `max`, `min`.
const char *name(ReductionKind kind);

/// Refuses types that cannot be reduced so: block types, sums of Bool.
Status checkReduction(DType dtype, ReductionKind kind);

/// Combines `operands` (at least 1) arrays of `count` elements into `out`,
/// which may be one of them. The pair has passed checkReduction.
void reduceInTree(const void *const *inputs, int64_t operands, void *out,
                  int64_t count, DType dtype, ReductionKind kind);

/// How allReduce cuts `count` elements over `ranks`: pieces of
/// ceil(count / ranks), the last ones shorter or empty.
struct Piece {
  int64_t begin;
  int64_t count;
};
Piece pieceOf(int64_t count, int64_t ranks, int64_t position);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_REDUCE_H

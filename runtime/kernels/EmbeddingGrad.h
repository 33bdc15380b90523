//===- EmbeddingGrad.h - embedding_grad -------------------------*- C++ -*-===//
//
// embedding_grad  ids[...] i32, dy[..., d] -> out[v, d] f32 or f64
//                 numbers [] or [pieces, dims]
//                 out[r] = sum of dy[i] over all i with ids[i] == r, in the
//                 order of i, in out's type
//
// Ids are global: where v is split, a rank sums what belongs to the rows that
// it holds. An id outside [0, global) is an error that names it, before
// anything is written. dy may have any float type.
//
// With numbers, each dimension i of ids with bit i set in `dims` is cut into
// `pieces` at fixed global boundaries (PieceCut.h): what belongs to a row is
// added within a piece in the order of i, and pieces in a binary tree.
//
// No workspace (the order of the ids is kept in the launch). bytes: out once,
// dy once, and the rows of out that are hit.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_EMBEDDINGGRAD_H
#define TANDEM_RUNTIME_KERNELS_EMBEDDINGGRAD_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &embeddingGradKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_EMBEDDINGGRAD_H

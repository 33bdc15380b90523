//===- Einsum.h - Sums of products over named dimensions --------*- C++ -*-===//
//
// einsum  A (, B) -> out       numbers [] or [pieces, factors]
//
// One factor of the rule a dimension. A factor in A, B and out is a batch; in
// A and out, or B and out, a row or column; in A and B only it is contracted;
// in one input only it is summed. Sums run over valid lanes; an empty sum is
// zero. All floats (f64, f32, f16, bf16, mixed freely; sums in float32, with
// an f64 anywhere in float64), or all integers (exact, in int64).
//
//   x[b,s,d] w[f,d]        -> [b,s,f]     weight stored [out, in]
//   x[b,s,k,g,d] w[k,g,d,e] -> [b,s,e]    weight stored [in, out]
//
// f32, bf16 and f16 products of two inputs are matrix products (Product.h)
// whatever the order of letters; all else runs in plain loops.
//
// With numbers, bits do not depend on the layout: an element is a chain of
// additions in the order of A's dimensions (ChainProduct.h), and each factor f
// with bit f set in `factors`, which must be a contracted one, is cut into
// `pieces` at fixed global boundaries (PieceCut.h). Products only. Where both
// inputs have all letters of out, as in "ij,ij->i", an element is not one chain
// but as DotProduct.h has it, in the same pieces.
//
// A factor of size 1 is no loop, whichever tensors have it.
//
// workspace: threads * productScratchBytes(K), K the product of the contracted
// capacities, and at least threads * chainScratchBytes(1) where a kept
// dimension of an input lies as the gradient of a weight has it; with numbers
// threads * chainScratchBytes(n), n this rank's pieces: for tiles that are
// packed, and sums in progress.
// bytes: A + B + out, the weight once. flops: 2 * product of all factors.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_EINSUM_H
#define TANDEM_RUNTIME_KERNELS_EINSUM_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &einsumKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_EINSUM_H

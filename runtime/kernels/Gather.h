//===- Gather.h - embedding, gather, scatter_add, update_slice --*- C++ -*-===//
//
// embedding     table[v, d], ids[...] i32 -> out[..., d]        numbers []
//               out[i] = table[ids[i]]. Floats, types mixed freely.
// gather        x, indices i32 -> out          numbers [dim, batchDims]
//               out[b..., pre..., i..., rest...] = x[b..., pre..., n, rest...]
//               with n = indices[b..., i...]; b the first batchDims dimensions
//               of both, pre those of x up to dim, rest those behind it.
// scatter_add   (base,) indices i32, updates -> out   numbers [dim, batchDims]
//               The inverse: out = base (zeros without it), and each update is
//               added where gather would read, in the order of the indices.
//               out may be base's memory.
// update_slice  cache[b, t, ...], rows[b, s, ...], positions[b] i32
//               (, lengths[b] i32) -> out      numbers []
//               out = cache (usually the same memory), then row i of batch b
//               (i = begin_s + lane) goes to index positions[b] + i, for i <
//               lengths[b] (without lengths: all). Rows that fall outside the
//               cache are dropped; nothing is clamped. Floats may differ in
//               type.
//
// Indices are global: where the looked-up dimension is split, a rank gives
// zeros for (does not add, does not write) what it does not hold. An id outside
// [0, global) is an error that names it, before anything is written.
//
// No workspace. Bytes: what is read and written, once; scatter_add and
// update_slice copy the base first where it is other memory.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_GATHER_H
#define TANDEM_RUNTIME_KERNELS_GATHER_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &embeddingKernel();
const Kernel &gatherKernel();
const Kernel &scatterAddKernel();
const Kernel &updateSliceKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_GATHER_H

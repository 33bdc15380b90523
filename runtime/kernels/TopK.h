//===- TopK.h - top_k -------------------------------------------*- C++ -*-===//
//
// top_k  in[..., v] (, payload[..., v] i32) -> values[..., k], indices[..., k]
// i32
//        numbers []
//
// The k largest valid lanes of each row, descending; among equals the lower
// index comes first. NaN comes behind everything. The index of a lane is
// begin + lane, or its payload (so that ranks' results can be merged). Fewer
// than k lanes: the rest is (-inf, 2147483647). Floats; values have the
// input's type. No workspace: the outputs hold the heap.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_TOPK_H
#define TANDEM_RUNTIME_KERNELS_TOPK_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &topKKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_TOPK_H

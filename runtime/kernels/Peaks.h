//===- Peaks.h - What this machine can do at best ---------------*- C++ -*-===//
//
// Measured with the threads that kernels use, so that a run can be compared
// with the hardware's own limits in the same minute.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_PEAKS_H
#define TANDEM_RUNTIME_KERNELS_PEAKS_H

#include "runtime/device/ThreadPool.h"

#include <cstddef>
#include <cstdint>

namespace tandem {

/// GB/s at which all threads together read `bytes` of memory once, in order:
/// the median of several passes. 0 where the memory cannot be had.
double measureReadBandwidth(ThreadPool &threads, size_t bytes = size_t(512)
                                                                << 20);

/// GFLOP/s of an n x n x n float32 product by oneDNN, columns shared out
/// evenly over all threads: the median of several.
double measureSgemmPeak(ThreadPool &threads, int64_t n = 1024);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_PEAKS_H

//===- NormStatistics.h - Mean and scale of a row ---------------*- C++ -*-===//
//
// What rms_norm and layer_norm, and their gradients, take from a row of x:
// normal = (x - mean) * factor, with mean 0 for rms_norm.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_NORMSTATISTICS_H
#define TANDEM_RUNTIME_KERNELS_NORMSTATISTICS_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Tiles.h"

#include <algorithm>

namespace tandem {

template <typename C> struct NormStatistics {
  C mean = 0, factor = 0;
};

/// Calls body(first lane, lanes, values) for the `width` lanes from `at` on,
/// tile by tile.
template <typename C, typename Body>
void forRowTiles(const TensorArg &x, int64_t at, int64_t width,
                 const Body &body) {
  C buffer[kTileLanes];
  for (int64_t i = 0; i < width; i += kTileLanes) {
    int64_t n = std::min(kTileLanes, width - i);
    body(i, n, loadTile<C>(x.data, x.dtype, at + i, n, buffer));
  }
}

template <typename C>
NormStatistics<C> statisticsOf(const TensorArg &x, int64_t at, int64_t width,
                               bool centred, C epsilon) {
  C mean = 0, squares = 0;
  if (centred) {
    C sum = 0;
    forRowTiles<C>(x, at, width, [&](int64_t, int64_t n, const C *in) {
      sum += rowSum(in, n);
    });
    mean = sum / width;
  }
  forRowTiles<C>(x, at, width, [&](int64_t, int64_t n, const C *in) {
    squares += centred ? rowSumDeviations(in, mean, n) : rowSumSquares(in, n);
  });
  return {mean, 1 / std::sqrt(squares / width + epsilon)};
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_NORMSTATISTICS_H

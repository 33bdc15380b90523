//===- Tiles.h - Elements of any type as float, double or int64 -*- C++ -*-===//
//
// Kernels compute in C = float, double or int64_t whatever the tensors hold.
// They work on tiles of at most kTileLanes lanes: loadTile gives a tile of the
// tensor itself where the types agree, else a converted copy in `buffer`.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_TILES_H
#define TANDEM_RUNTIME_KERNELS_TILES_H

#include "runtime/base/DType.h"

#include <cstddef>

namespace tandem {

constexpr int64_t kTileLanes = 512;

/// `n` elements from element `first`, `stride` apart. The result is `buffer`,
/// or the tensor's own memory where it has type C and stride 1.
template <typename C>
const C *loadTile(const std::byte *data, DType type, int64_t first, int64_t n,
                  C *buffer, int64_t stride = 1);

/// Writes `n` values as elements of `type`: rounded to nearest even, floats to
/// integers toward zero and clipped (NaN to 0), booleans as value != 0.
template <typename C>
void storeTile(std::byte *data, DType type, int64_t first, int64_t n,
               const C *values, int64_t stride = 1);

/// One element.
template <typename C>
C loadOne(const std::byte *data, DType type, int64_t index) {
  C value;
  return *loadTile<C>(data, type, index, 1, &value);
}
template <typename C>
void storeOne(std::byte *data, DType type, int64_t index, C value) {
  storeTile<C>(data, type, index, 1, &value);
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_TILES_H

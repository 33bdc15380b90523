//===- Product.h - Matrix products over strided operands --------*- C++ -*-===//
//
// What it is: c[r, j] = sum over k of a[r, k] * b[k, j], repeated over outer
// loops (batches), the sum going on over further contraction loops. Strides
// are free; what oneDNN or the streaming loops cannot read as it lies is
// packed, a tile at a time, into scratch.
//
//   7 rows or fewer   b is streamed once, as [columns, depth] or as
//                     [depth, columns], in f32, bf16 or f16: bound by memory
//   8 rows or more    oneDNN's sgemm on tiles of fixed size, each by one
//                     thread: bound by FMAs
//
// Tiles do not depend on the number of threads, so neither do the bits.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_PRODUCT_H
#define TANDEM_RUNTIME_KERNELS_PRODUCT_H

#include "runtime/kernels/LoopNest.h"

namespace tandem {

/// A matrix in memory: f32, bf16 or f16; strides in elements.
struct ProductMatrix {
  std::byte *data = nullptr;
  DType type = DType::F32;
  int64_t rowStride = 0, columnStride = 0;
};

struct Product {
  int64_t rows = 1, columns = 1, depth = 1;
  ProductMatrix a, b, c;
  LoopNest<3> outer; ///< Offsets of a, b and c.
  LoopNest<2> deep;  ///< Further contraction loops: offsets of a and b.

  /// Exchanges a and b, rows and columns.
  void transpose();
  /// Brings it into the form that run() is fastest on.
  void normalise();
  void run(std::byte *scratch, ThreadPool &threads) const;

private:
  bool streams() const;
  void runStreaming(std::byte *scratch, ThreadPool &threads) const;
  void streamColumns(const LoopNest<3>::Offsets &at, int64_t begin, int64_t end,
                     float *packed) const;
  void runTiles(std::byte *scratch, ThreadPool &threads) const;
  void runTile(const LoopNest<3>::Offsets &at, int64_t row, int64_t column,
               float *packed) const;
};

/// Bytes of scratch for each thread that any product of at most that depth
/// may need.
int64_t productScratchBytes(int64_t depth);

/// One row-major sgemm on the calling thread: c = a b (+ c when accumulate);
/// `transposeA`, `transposeB`: stored [depth, rows], [columns, depth].
void multiplyOnThread(bool transposeA, bool transposeB, int64_t rows,
                      int64_t columns, int64_t depth, const float *a,
                      int64_t strideA, const float *b, int64_t strideB,
                      bool accumulate, float *c, int64_t strideC);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_PRODUCT_H

//===- Copy.h - Strided copies, fast for long runs --------------*- C++ -*-===//
//
// out[sum of i_d * outStrides[d]] = in[sum of i_d * inStrides[d]] for all
// 0 <= i_d < sizes[d]; strides in elements, an input stride of 0 repeats.
// Long runs go through memcpy, transpositions in square blocks.
//
// Moves each byte once: reads and writes elementBytes * product(sizes).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_COPY_H
#define TANDEM_RUNTIME_KERNELS_COPY_H

#include "runtime/kernels/LoopNest.h"

namespace tandem {

/// A copy made ready: run() allocates nothing.
class StridedCopy {
public:
  StridedCopy() : StridedCopy(1, {}) {}
  /// `nest` walks tensor 0, the output, and tensor 1, the input.
  StridedCopy(int64_t elementBytes, LoopNest<2> nest);

  void run(std::byte *out, const std::byte *in) const;
  /// The same on all threads where there is enough to copy.
  void run(std::byte *out, const std::byte *in, ThreadPool &threads) const;

private:
  void runLoop(size_t loop, std::byte *out, const std::byte *in) const;
  void runRange(std::byte *out, const std::byte *in, int64_t begin,
                int64_t end) const;
  void runInner(std::byte *out, const std::byte *in) const;

  int64_t elementBytes;
  LoopNest<2> nest; ///< Strides in bytes; without the inner loops.
  LoopNest<2>::Loop inner = {1, {}};  ///< Walks the output by runs.
  LoopNest<2>::Loop across = {1, {}}; ///< Walks the input by runs.
  int64_t bytes = 0;
};

void copyStrided(std::byte *out, const std::byte *in, int64_t elementBytes,
                 const std::vector<int64_t> &sizes,
                 const std::vector<int64_t> &outStrides,
                 const std::vector<int64_t> &inStrides);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_COPY_H

//===- Fill.h - fill, constant, iota, mask_padding --------------*- C++ -*-===//
//
// fill          () -> out        numbers [value]
//               Every valid lane = value.
// constant      () -> out        numbers [one value for each element of the
//                                global tensor, row-major]
//               Every valid lane = the value of its global index.
// iota          () -> out        numbers [dim, start, step]
//               out[..., i, ...] = start + step * (begin + i) along `dim`.
// mask_padding  in -> out        numbers [value]
//               Valid lanes of `in` copied (or in place), all others = value.
//
// Values are doubles as bits, converted to the tensor's type. Any type; no
// workspace; moves the output once (mask_padding in place: the padding only).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_FILL_H
#define TANDEM_RUNTIME_KERNELS_FILL_H

#include "runtime/kernels/Copy.h"

namespace tandem {

const Kernel &fillKernel();
const Kernel &constantKernel();
const Kernel &iotaKernel();
const Kernel &maskPaddingKernel();

/// Sets lanes [begin_d, begin_d + count_d) of a tensor to one value.
class BoxFill {
public:
  BoxFill(const TensorArg &out, const std::vector<int64_t> &begins,
          const std::vector<int64_t> &counts, double value);
  /// All valid lanes.
  BoxFill(const TensorArg &out, double value);
  void run(ThreadPool &threads) const { copy.run(data, element, threads); }

private:
  std::byte *data = nullptr;
  alignas(8) std::byte element[8] = {};
  StridedCopy copy;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_FILL_H

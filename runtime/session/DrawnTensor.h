//===- DrawnTensor.h - A new model's weights, from a seed -------*- C++ -*-===//
//
// Each element follows from the seed, the stored tensor's name and the
// element's place in it alone, so that whoever materialises whichever slice
// finds the same model:
//
//   bits = philox({element, hash of name}, seed)       as 64-bit halves
//   value = mean + deviation * sqrt(-2 ln(1 - u)) * cos(2 pi v)
//
// u and v in [0, 1) of the first and the last 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_DRAWNTENSOR_H
#define TANDEM_RUNTIME_SESSION_DRAWNTENSOR_H

#include "runtime/base/DType.h"
#include "runtime/files/ReadView.h"

#include <string_view>

namespace tandem {

class DrawnTensor {
public:
  DrawnTensor(uint64_t seed, std::string_view name, double mean,
              double deviation);

  /// The element at `index` of the row-major stored tensor.
  double element(uint64_t index) const;

  /// Writes the elements of `view` to `out` as readView does, rounded to the
  /// float type `to`.
  Status draw(const StridedView &view, DType to, std::byte *out,
              const std::vector<int64_t> &outStrides) const;

private:
  uint64_t seed_, hash_;
  double mean_, deviation_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_DRAWNTENSOR_H

#include "runtime/exec/BlockCopy.h"

#include <cassert>
#include <cstring>

namespace tandem {

void BlockCopy::run(const std::byte *source, std::byte *target) const {
  if (bytes == 0)
    return;
  source += from;
  target += to;
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(target, source, static_cast<size_t>(bytes));
    source += fromStride;
    target += toStride;
  }
}

BlockCopy laneCopy(const std::vector<int64_t> &source,
                   const std::vector<int64_t> &target, size_t dim,
                   LaneRange lanes, int64_t elementBytes) {
  assert(source.size() == target.size() && dim < source.size());
  int64_t rows = 1, inner = elementBytes;
  for (size_t i = 0; i < dim; ++i)
    rows *= source[i];
  for (size_t i = dim + 1; i < source.size(); ++i)
    inner *= source[i];
  BlockCopy copy;
  copy.from = lanes.from * inner;
  copy.to = lanes.to * inner;
  copy.bytes = lanes.count * inner;
  copy.rows = rows;
  copy.fromStride = source[dim] * inner;
  copy.toStride = target[dim] * inner;
  return copy;
}

} // namespace tandem

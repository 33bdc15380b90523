#include "runtime/kernels/LoopNest.h"

#include <algorithm>

namespace tandem {

std::vector<int64_t> stridesOf(const TensorArg &arg) {
  std::vector<int64_t> strides(arg.dims.size());
  int64_t stride = 1;
  for (size_t d = arg.dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= arg.dims[d].capacity;
  }
  return strides;
}

int64_t validCount(const TensorArg &arg, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t d = first; d < last; ++d)
    count *= arg.dims[d].valid;
  return count;
}

int32_t factorOf(const FactorMapping &mapping, size_t dim) {
  if (dim >= mapping.dims.size() || mapping.dims[dim].empty())
    return -1;
  return mapping.dims[dim].front();
}

LoopNest<2> commonLoops(const TensorArg &a, const TensorArg &b, size_t first,
                        size_t last) {
  std::vector<int64_t> strideA = stridesOf(a), strideB = stridesOf(b);
  LoopNest<2> nest;
  for (size_t d = first; d < last; ++d)
    nest.add(std::min(a.dims[d].valid, b.dims[d].valid),
             {strideA[d], strideB[d]});
  nest.merge();
  return nest;
}

} // namespace tandem

#include "ir/Tensor.h"

#include <cassert>
#include <limits>

namespace tandem {
namespace {

size_t elementCount(const std::vector<LocalDim> &dims) {
  size_t count = 1;
  for (const LocalDim &dim : dims)
    count *= static_cast<size_t>(dim.capacity);
  return count;
}

} // namespace

Tensor::Tensor(std::vector<LocalDim> dims)
    : dims_(std::move(dims)),
      data_(elementCount(dims_), std::numeric_limits<double>::quiet_NaN()) {}

Tensor Tensor::whole(const std::vector<int64_t> &shape,
                     std::vector<double> data) {
  std::vector<LocalDim> dims;
  for (int64_t size : shape)
    dims.push_back({size, size, 0, size});
  Tensor tensor(std::move(dims));
  assert(tensor.data_.size() == data.size() && "as many values as lanes");
  tensor.data_ = std::move(data);
  return tensor;
}

size_t Tensor::offset(const std::vector<int64_t> &index) const {
  size_t offset = 0;
  for (size_t i = 0; i < dims_.size(); ++i)
    offset = offset * dims_[i].capacity + index[i];
  return offset;
}

void Tensor::forEachValid(
    const std::function<void(const std::vector<int64_t> &)> &body) const {
  std::vector<int64_t> sizes;
  for (const LocalDim &dim : dims_)
    sizes.push_back(dim.valid);
  forEachIndex(sizes, body);
}

void forEachIndex(
    const std::vector<int64_t> &sizes,
    const std::function<void(const std::vector<int64_t> &)> &body) {
  for (int64_t size : sizes)
    if (size == 0)
      return;
  std::vector<int64_t> index(sizes.size(), 0);
  while (true) {
    body(index);
    size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1])
      index[--i] = 0;
    if (i == 0)
      return;
  }
}

} // namespace tandem

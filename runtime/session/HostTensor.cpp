#include "runtime/session/HostTensor.h"

#include "runtime/files/ConvertElements.h"
#include "runtime/files/Safetensors.h"

#include <cmath>
#include <cstring>

namespace tandem {

HostTensor::HostTensor(DType dtype, std::vector<int64_t> shape)
    : dtype(dtype), shape(std::move(shape)) {
  data.resize(static_cast<size_t>(storageBytes(dtype, elements())));
}

int64_t HostTensor::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Result<HostTensors> readHostTensors(const std::string &path) {
  TANDEM_ASSIGN(TensorStore store, readSafetensors(path));
  HostTensors tensors;
  for (const StoredTensor &tensor : store.tensors()) {
    HostTensor host(tensor.dtype, tensor.shape);
    std::copy(tensor.data, tensor.data + tensor.bytes, host.data.begin());
    tensors.emplace(tensor.name, std::move(host));
  }
  return tensors;
}

HostTensor hostVector(const std::vector<int32_t> &values) {
  HostTensor result(DType::I32, {static_cast<int64_t>(values.size())});
  if (!values.empty())
    std::memcpy(result.data.data(), values.data(),
                values.size() * sizeof(int32_t));
  return result;
}

namespace {

std::vector<double> asDoubles(const HostTensor &tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  Status widening = convertElements(tensor.dtype, tensor.data.data(),
                                    values.size(), DType::F64, values.data());
  assert(widening.ok() && "every float is a double");
  (void)widening;
  return values;
}

/// The files' conversion lets floats round; here that is a refusal.
Status refuseRounding(const HostTensor &from, const HostTensor &to) {
  std::vector<double> before = asDoubles(from), after = asDoubles(to);
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i] || std::isnan(before[i]))
      continue;
    char value[40];
    std::snprintf(value, sizeof value, "%.17g", before[i]);
    return Status::refused("element " + std::to_string(i) + " is " + value +
                           ", which is no " + std::string(name(to.dtype)) +
                           " value");
  }
  return Status();
}

} // namespace

void HostTensor::fill(int64_t value) {
  std::vector<int64_t> values(static_cast<size_t>(elements()), value);
  Status status =
      convertElements(DType::I64, reinterpret_cast<std::byte *>(values.data()),
                      values.size(), dtype, data.data());
  assert(status.ok() && "a value that the type can hold");
  (void)status;
}

Result<HostTensor> convertExactly(const HostTensor &tensor, DType dtype) {
  if (tensor.dtype == dtype)
    return tensor;
  if (isQuantised(tensor.dtype) || isQuantised(dtype))
    return Status::refused("cannot convert " + std::string(name(tensor.dtype)) +
                           " to " + std::string(name(dtype)));
  HostTensor result(dtype, tensor.shape);
  TANDEM_TRY(convertElements(tensor.dtype, tensor.data.data(),
                             static_cast<uint64_t>(tensor.elements()), dtype,
                             result.data.data()));
  if (isFloat(tensor.dtype) && isFloat(dtype))
    TANDEM_TRY(refuseRounding(tensor, result));
  return result;
}

void copyBox(const std::byte *source, const BoxPlace &from, std::byte *target,
             const BoxPlace &to, const std::vector<int64_t> &size,
             int64_t elementBytes) {
  size_t rank = size.size();
  for (int64_t extent : size)
    if (extent <= 0)
      return;
  int64_t fromStep = elementBytes, toStep = elementBytes;
  std::vector<int64_t> fromStride(rank), toStride(rank), index(rank, 0);
  for (size_t i = rank; i-- > 0;) {
    fromStride[i] = fromStep;
    toStride[i] = toStep;
    source += from.begin[i] * fromStep;
    target += to.begin[i] * toStep;
    fromStep *= from.shape[i];
    toStep *= to.shape[i];
  }
  size_t run =
      static_cast<size_t>(rank ? size[rank - 1] * elementBytes : elementBytes);
  for (;;) {
    std::memcpy(target, source, run);
    // The odometer over all dimensions but the last, which a row covers.
    size_t dim = rank < 2 ? 0 : rank - 1;
    while (dim > 0) {
      --dim;
      source += fromStride[dim];
      target += toStride[dim];
      if (++index[dim] < size[dim])
        break;
      source -= size[dim] * fromStride[dim];
      target -= size[dim] * toStride[dim];
      index[dim] = 0;
      if (dim == 0)
        return;
    }
    if (rank < 2)
      return;
  }
}

} // namespace tandem

//===- HostTensor.h - A whole tensor in ordinary memory ---------*- C++ -*-===//
//
// What a caller hands to an entry and gets back: global shape, dense and
// row-major. Conversion is exact or refused: 3.0 is a fine i32, 3.5 is none.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_HOSTTENSOR_H
#define TANDEM_RUNTIME_SESSION_HOSTTENSOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <cassert>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tandem {

struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data; ///< storageBytes(dtype, elements()) bytes.

  HostTensor() = default;
  /// A tensor of zeros.
  HostTensor(DType dtype, std::vector<int64_t> shape);

  int64_t elements() const;
  template <typename T> T *as() {
    assert(static_cast<int64_t>(sizeof(T)) == blockBytes(dtype));
    return reinterpret_cast<T *>(data.data());
  }
  template <typename T> const T *as() const {
    return const_cast<HostTensor *>(this)->as<T>();
  }
  /// Sets every element; `value` is one that the type can hold.
  void fill(int64_t value);
};

/// By name, in name order.
using HostTensors = std::map<std::string, HostTensor>;

/// All tensors of a safetensors file.
Result<HostTensors> readHostTensors(const std::string &path);

/// A one-dimensional tensor of these values.
HostTensor hostVector(const std::vector<int32_t> &values);

/// `tensor` as elements of `dtype`, a plain type. Refused, naming the first
/// element at fault, where a value would change.
Result<HostTensor> convertExactly(const HostTensor &tensor, DType dtype);

/// A box of a dense tensor: where it begins and the tensor's shape.
struct BoxPlace {
  std::vector<int64_t> shape;
  std::vector<int64_t> begin;
};

/// Copies the box of `size` elements per dimension between two dense tensors
/// of equal element size. An empty box copies nothing.
void copyBox(const std::byte *source, const BoxPlace &from, std::byte *target,
             const BoxPlace &to, const std::vector<int64_t> &size,
             int64_t elementBytes);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_HOSTTENSOR_H

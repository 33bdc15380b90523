//===- Elements.h - Tensors of any type for communicator tests --*- C++ -*-===//
//
// Values are small integers, exact in every element type, so that expected
// results are plain integer arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_COMM_ELEMENTS_H
#define TANDEM_TEST_UNIT_COMM_ELEMENTS_H

#include "runtime/base/DType.h"
#include "runtime/mesh/Rule.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace tandem {

inline const std::vector<DType> &signedTypes() {
  static const std::vector<DType> types = {DType::F64,  DType::F32, DType::F16,
                                           DType::BF16, DType::I64, DType::I32,
                                           DType::I16,  DType::I8};
  return types;
}

inline const std::vector<DType> &unsignedTypes() {
  static const std::vector<DType> types = {DType::U8, DType::U16, DType::U32,
                                           DType::U64};
  return types;
}

/// Elements of one type, read and written as integers.
class Elements {
public:
  Elements(DType dtype, int64_t count)
      : dtype(dtype), storage(storageBytes(dtype, count)), count_(count) {}
  template <typename Value>
  Elements(DType dtype, int64_t count, const Value &value)
      : Elements(dtype, count) {
    for (int64_t i = 0; i < count; ++i)
      set(i, value(i));
  }

  std::byte *data() { return storage.data(); }
  int64_t count() const { return count_; }
  int64_t bytes() const { return static_cast<int64_t>(storage.size()); }

  void set(int64_t index, int64_t value) {
    switch (dtype) {
    case DType::F64:
      return put(index, static_cast<double>(value));
    case DType::F32:
      return put(index, static_cast<float>(value));
    case DType::F16:
      return put(index, floatToHalf(static_cast<float>(value)));
    case DType::BF16:
      return put(index, floatToBfloat(static_cast<float>(value)));
    default:
      // Little-endian: the low bytes are the value in fewer bits.
      std::memcpy(&storage[index * blockBytes(dtype)], &value,
                  blockBytes(dtype));
    }
  }

  int64_t get(int64_t index) const {
    switch (dtype) {
    case DType::F64:
      return static_cast<int64_t>(take<double>(index));
    case DType::F32:
      return static_cast<int64_t>(take<float>(index));
    case DType::F16:
      return static_cast<int64_t>(halfToFloat(take<uint16_t>(index)));
    case DType::BF16:
      return static_cast<int64_t>(bfloatToFloat(take<uint16_t>(index)));
    case DType::I64:
    case DType::U64:
      return take<int64_t>(index);
    case DType::I32:
      return take<int32_t>(index);
    case DType::I16:
      return take<int16_t>(index);
    case DType::I8:
      return take<int8_t>(index);
    case DType::U32:
      return take<uint32_t>(index);
    case DType::U16:
      return take<uint16_t>(index);
    default:
      return take<uint8_t>(index);
    }
  }

  /// Indices whose value differs from `expected`; 0 is what a test wants.
  template <typename Expected> int64_t wrong(const Expected &expected) const {
    int64_t count = 0;
    for (int64_t i = 0; i < count_; ++i)
      count += get(i) != expected(i);
    return count;
  }

private:
  template <typename T> void put(int64_t index, T value) {
    std::memcpy(&storage[index * sizeof(T)], &value, sizeof value);
  }
  template <typename T> T take(int64_t index) const {
    T value;
    std::memcpy(&value, &storage[index * sizeof(T)], sizeof value);
    return value;
  }

  DType dtype;
  std::vector<std::byte> storage;
  int64_t count_;
};

/// The value of element `index` on `rank`: -5 to 5, or 0 to 10 for unsigned
/// types, so that sums over 20 ranks are exact in every type.
inline int64_t valueOf(DType dtype, int64_t rank, int64_t index) {
  int64_t value = (rank * 7 + index * 3 + index / 11) % 11;
  return dtype < DType::U8 ? value - 5 : value;
}

/// The reduction of that element over `ranks`.
inline int64_t reducedValue(DType dtype, const std::vector<int64_t> &ranks,
                            int64_t index, ReductionKind kind) {
  int64_t result = valueOf(dtype, ranks[0], index);
  for (size_t i = 1; i < ranks.size(); ++i) {
    int64_t next = valueOf(dtype, ranks[i], index);
    result = kind == ReductionKind::Sum   ? result + next
             : kind == ReductionKind::Max ? std::max(result, next)
                                          : std::min(result, next);
  }
  return result;
}

} // namespace tandem

#endif // TANDEM_TEST_UNIT_COMM_ELEMENTS_H

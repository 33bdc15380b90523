#include "runtime/kernels/Tiles.h"

#include "runtime/kernels/VectorOps.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace tandem {
namespace {

// Elements whose C++ type alone does not tell what they hold.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
struct Truth {
  uint8_t value;
};

template <typename C, typename T> C toCompute(T value) {
  return static_cast<C>(value);
}
template <typename C> C toCompute(Half value) {
  return static_cast<C>(halfToFloat(value.bits));
}
template <typename C> C toCompute(Bfloat value) {
  return static_cast<C>(bfloatToFloat(value.bits));
}
template <typename C> C toCompute(Truth value) {
  return static_cast<C>(value.value != 0);
}

/// Integers wrap among each other; floats are clipped.
template <typename T, typename C> T toInteger(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    constexpr C low = static_cast<C>(std::numeric_limits<T>::min());
    // max + 1 is a power of two, exact where max itself may not be.
    constexpr C high =
        static_cast<C>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    if (!(value >= low))
      return value < low ? std::numeric_limits<T>::min() : T(0);
    return value >= high ? std::numeric_limits<T>::max()
                         : static_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <typename T, typename C> T fromCompute(C value) {
  if constexpr (std::is_same_v<T, Half>)
    return {floatToHalf(static_cast<float>(value))};
  else if constexpr (std::is_same_v<T, Bfloat>)
    return {floatToBfloat(static_cast<float>(value))};
  else if constexpr (std::is_same_v<T, Truth>)
    return {static_cast<uint8_t>(value != 0)};
  else if constexpr (std::is_integral_v<T>)
    return toInteger<T>(value);
  else
    return static_cast<T>(value);
}

/// Calls body(T()) with the C++ type of a plain element type.
template <typename Body> void withElement(DType type, const Body &body) {
  switch (type) {
  case DType::F64:
    return body(double());
  case DType::F32:
    return body(float());
  case DType::F16:
    return body(Half());
  case DType::BF16:
    return body(Bfloat());
  case DType::I64:
    return body(int64_t());
  case DType::I32:
    return body(int32_t());
  case DType::I16:
    return body(int16_t());
  case DType::I8:
    return body(int8_t());
  case DType::U8:
    return body(uint8_t());
  case DType::Bool:
    return body(Truth());
  case DType::U16:
    return body(uint16_t());
  case DType::U32:
    return body(uint32_t());
  case DType::U64:
    return body(uint64_t());
  default:
    return; // Contract refuses quantised types
  }
}

/// The vectorised conversions; false where there is none.
bool loadFast(const std::byte *data, DType type, int64_t first, int64_t n,
              float *buffer) {
  auto *bits = reinterpret_cast<const uint16_t *>(data) + first;
  if (type == DType::BF16)
    vectorOps().widenBF16(buffer, bits, n);
  else if (type == DType::F16)
    vectorOps().widenF16(buffer, bits, n);
  return type == DType::BF16 || type == DType::F16;
}

bool storeFast(std::byte *data, DType type, int64_t first, int64_t n,
               const float *values) {
  auto *bits = reinterpret_cast<uint16_t *>(data) + first;
  if (type == DType::BF16)
    vectorOps().narrowBF16(bits, values, n);
  else if (type == DType::F16)
    vectorOps().narrowF16(bits, values, n);
  return type == DType::BF16 || type == DType::F16;
}

} // namespace

template <typename C>
const C *loadTile(const std::byte *data, DType type, int64_t first, int64_t n,
                  C *buffer, int64_t stride) {
  if constexpr (std::is_same_v<C, float>)
    if (stride == 1 && loadFast(data, type, first, n, buffer))
      return buffer;
  const C *result = buffer;
  withElement(type, [&](auto element) {
    using T = decltype(element);
    const T *from = reinterpret_cast<const T *>(data) + first;
    if constexpr (std::is_same_v<T, C>)
      if (stride == 1) {
        result = from;
        return;
      }
    for (int64_t i = 0; i < n; ++i)
      buffer[i] = toCompute<C>(from[i * stride]);
  });
  return result;
}

template <typename C>
void storeTile(std::byte *data, DType type, int64_t first, int64_t n,
               const C *values, int64_t stride) {
  if constexpr (std::is_same_v<C, float>)
    if (stride == 1 && storeFast(data, type, first, n, values))
      return;
  withElement(type, [&](auto element) {
    using T = decltype(element);
    T *to = reinterpret_cast<T *>(data) + first;
    if constexpr (std::is_same_v<T, C>)
      if (stride == 1) {
        if (to != values)
          std::memmove(to, values, n * sizeof(T));
        return;
      }
    for (int64_t i = 0; i < n; ++i)
      to[i * stride] = fromCompute<T>(values[i]);
  });
}

#define TANDEM_TILES(C)                                                        \
  template const C *loadTile<C>(const std::byte *, DType, int64_t, int64_t,    \
                                C *, int64_t);                                 \
  template void storeTile<C>(std::byte *, DType, int64_t, int64_t, const C *,  \
                             int64_t);
TANDEM_TILES(float)
TANDEM_TILES(double)
TANDEM_TILES(int64_t)
#undef TANDEM_TILES

} // namespace tandem

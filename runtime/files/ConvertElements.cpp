#include "runtime/files/ConvertElements.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace tandem {
namespace {

/// Values that pass through the middle at a time: they stay in the L1 cache.
constexpr uint64_t chunk = 1024;

template <typename T> T loadAt(const std::byte *data, uint64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

/// halfToFloat without branches, so that loops over it become vector code: a
/// half's bits, moved to float's place, are the value scaled by 2^-112.
float fastHalfToFloat(uint16_t half) {
  uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffu) << 13;
  float scaled;
  std::memcpy(&scaled, &magnitude, sizeof scaled);
  scaled *= 0x1p112f;
  uint32_t bits;
  std::memcpy(&bits, &scaled, sizeof bits);
  bits |= (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  bits |= static_cast<uint32_t>(half & 0x8000u) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// floatToBfloat without branches.
uint16_t fastFloatToBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet
                                                                  : rounded);
}

void loadFloats(DType from, const std::byte *data, uint64_t n, float *out) {
  if (from == DType::F32)
    std::memcpy(out, data, n * sizeof(float));
  else if (from == DType::F16)
    for (uint64_t i = 0; i < n; ++i)
      out[i] = fastHalfToFloat(loadAt<uint16_t>(data, i));
  else
    for (uint64_t i = 0; i < n; ++i)
      out[i] = bfloatToFloat(loadAt<uint16_t>(data, i));
}

/// Where the first value stands that cannot be converted, and what it is.
struct Loss {
  uint64_t index;
  std::string value;
};
using MaybeLoss = std::optional<Loss>;

std::string show(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}
std::string show(float value) { return show(static_cast<double>(value)); }
std::string show(int64_t value) { return std::to_string(value); }

template <typename T>
void loadAs(const std::byte *data, uint64_t n, int64_t *out) {
  for (uint64_t i = 0; i < n; ++i)
    out[i] = static_cast<int64_t>(loadAt<T>(data, i));
}

MaybeLoss loadIntegers(DType from, const std::byte *data, uint64_t n,
                       int64_t *out) {
  switch (from) {
  case DType::I64:
    return loadAs<int64_t>(data, n, out), std::nullopt;
  case DType::I32:
    return loadAs<int32_t>(data, n, out), std::nullopt;
  case DType::I16:
    return loadAs<int16_t>(data, n, out), std::nullopt;
  case DType::I8:
    return loadAs<int8_t>(data, n, out), std::nullopt;
  case DType::U8:
    return loadAs<uint8_t>(data, n, out), std::nullopt;
  case DType::U16:
    return loadAs<uint16_t>(data, n, out), std::nullopt;
  case DType::U32:
    return loadAs<uint32_t>(data, n, out), std::nullopt;
  case DType::Bool:
    for (uint64_t i = 0; i < n; ++i)
      out[i] = loadAt<uint8_t>(data, i) != 0;
    return std::nullopt;
  default:
    loadAs<uint64_t>(data, n, out);
    for (uint64_t i = 0; i < n; ++i)
      if (out[i] < 0)
        return Loss{i, std::to_string(static_cast<uint64_t>(out[i]))};
    return std::nullopt;
  }
}

/// Whether `value` is one of T's, T an integer type.
template <typename T> bool fits(double value) {
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  // The first power of two beyond T; T's maximum itself may be no double.
  const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
  return value >= low && value < high && value == std::trunc(value);
}
template <typename T> bool fits(float value) {
  return fits<T>(static_cast<double>(value));
}
template <typename T> bool fits(int64_t value) {
  if (std::is_same_v<T, uint64_t>)
    return value >= 0;
  return value >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
         value <= static_cast<int64_t>(std::numeric_limits<T>::max());
}

template <typename T, typename Wide>
MaybeLoss storeIntegers(const Wide *in, uint64_t n, void *out) {
  T *to = static_cast<T *>(out);
  for (uint64_t i = 0; i < n; ++i) {
    if (!fits<T>(in[i]))
      return Loss{i, show(in[i])};
    to[i] = static_cast<T>(in[i]);
  }
  return std::nullopt;
}

template <typename Wide>
MaybeLoss storeBools(const Wide *in, uint64_t n, void *out) {
  uint8_t *to = static_cast<uint8_t *>(out);
  for (uint64_t i = 0; i < n; ++i) {
    if (in[i] != 0 && in[i] != 1)
      return Loss{i, show(in[i])};
    to[i] = in[i] != 0;
  }
  return std::nullopt;
}

template <typename Wide>
void storeFloats(const Wide *in, uint64_t n, DType to, void *out) {
  auto *halves = static_cast<uint16_t *>(out);
  if (to == DType::F64)
    for (uint64_t i = 0; i < n; ++i)
      static_cast<double *>(out)[i] = static_cast<double>(in[i]);
  else if (to == DType::F32)
    for (uint64_t i = 0; i < n; ++i)
      static_cast<float *>(out)[i] = static_cast<float>(in[i]);
  else if (to == DType::F16)
    for (uint64_t i = 0; i < n; ++i)
      halves[i] = floatToHalf(static_cast<float>(in[i]));
  else
    for (uint64_t i = 0; i < n; ++i)
      halves[i] = fastFloatToBfloat(static_cast<float>(in[i]));
}

/// The first of `in` that the floats stored at `out` are not equal to.
MaybeLoss findRounded(const int64_t *in, uint64_t n, DType to,
                      const void *out) {
  const auto *bytes = static_cast<const std::byte *>(out);
  for (uint64_t i = 0; i < n; ++i) {
    double back;
    float narrow;
    if (to == DType::F64) {
      back = loadAt<double>(bytes, i);
    } else {
      loadFloats(to, bytes + i * blockBytes(to), 1, &narrow);
      back = narrow;
    }
    if (!fits<int64_t>(back) || static_cast<int64_t>(back) != in[i])
      return Loss{i, show(in[i])};
  }
  return std::nullopt;
}

template <typename Wide>
MaybeLoss store(const Wide *in, uint64_t n, DType to, void *out) {
  switch (to) {
  case DType::I64:
    return storeIntegers<int64_t>(in, n, out);
  case DType::I32:
    return storeIntegers<int32_t>(in, n, out);
  case DType::I16:
    return storeIntegers<int16_t>(in, n, out);
  case DType::I8:
    return storeIntegers<int8_t>(in, n, out);
  case DType::U8:
    return storeIntegers<uint8_t>(in, n, out);
  case DType::U16:
    return storeIntegers<uint16_t>(in, n, out);
  case DType::U32:
    return storeIntegers<uint32_t>(in, n, out);
  case DType::U64:
    return storeIntegers<uint64_t>(in, n, out);
  case DType::Bool:
    return storeBools(in, n, out);
  default:
    storeFloats(in, n, to, out);
    if constexpr (std::is_same_v<Wide, int64_t>)
      return findRounded(in, n, to, out);
    return std::nullopt;
  }
}

/// Converts at most `chunk` elements.
MaybeLoss convertChunk(DType from, const std::byte *data, uint64_t n, DType to,
                       void *out) {
  if (from == DType::F64) {
    double wide[chunk];
    std::memcpy(wide, data, n * sizeof(double));
    return store(wide, n, to, out);
  }
  if (isFloat(from)) {
    float wide[chunk];
    loadFloats(from, data, n, wide);
    return store(wide, n, to, out);
  }
  int64_t wide[chunk];
  if (MaybeLoss loss = loadIntegers(from, data, n, wide))
    return loss;
  return store(wide, n, to, out);
}

} // namespace

Status convertElements(DType from, const std::byte *data, uint64_t count,
                       DType to, void *out, uint64_t firstIndex) {
  assert(!isQuantised(from) && !isQuantised(to) && "blocks are not elements");
  const auto fromBytes = static_cast<uint64_t>(blockBytes(from));
  const auto toBytes = static_cast<uint64_t>(blockBytes(to));
  if (count == 0)
    return Status();
  if (from == to && from != DType::Bool) {
    std::memcpy(out, data, count * fromBytes);
    return Status();
  }
  if (to == DType::F32 && isFloat(from) && from != DType::F64) {
    loadFloats(from, data, count, static_cast<float *>(out));
    return Status();
  }
  auto *bytes = static_cast<std::byte *>(out);
  for (uint64_t i = 0; i < count; i += chunk) {
    MaybeLoss loss =
        convertChunk(from, data + i * fromBytes, std::min(chunk, count - i), to,
                     bytes + i * toBytes);
    if (loss)
      return Status::refused(
          "element " + std::to_string(firstIndex + i + loss->index) + " is " +
          loss->value + ", which " + std::string(name(to)) + " cannot hold");
  }
  return Status();
}

} // namespace tandem

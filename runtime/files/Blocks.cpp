#include "runtime/files/Blocks.h"

#include <cassert>
#include <cstring>

namespace tandem {
namespace {

float halfAt(const uint8_t *bytes) {
  uint16_t bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return halfToFloat(bits);
}

// Each function below turns one block at `b` into its values at `out`.
// The 32-value types keep value j in the low half of byte j and value j + 16
// in its high half.

// [d: f16][32 x i8]
void readQ8_0(const uint8_t *b, float *out) {
  float d = halfAt(b);
  for (int j = 0; j < 32; ++j)
    out[j] = static_cast<float>(static_cast<int8_t>(b[2 + j])) * d;
}

// [d: f16][16 bytes of halves]
void readQ4_0(const uint8_t *b, float *out) {
  float d = halfAt(b);
  const uint8_t *q = b + 2;
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>((q[j] & 15) - 8) * d;
    out[j + 16] = static_cast<float>((q[j] >> 4) - 8) * d;
  }
}

// [d: f16][m: f16][16 bytes of halves]
void readQ4_1(const uint8_t *b, float *out) {
  float d = halfAt(b), m = halfAt(b + 2);
  const uint8_t *q = b + 4;
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(q[j] & 15) * d + m;
    out[j + 16] = static_cast<float>(q[j] >> 4) * d + m;
  }
}

/// Value j's five bits: four of its half byte, the fifth from bit j of `high`.
int fiveBits(uint8_t half, uint32_t high, int j) {
  return half | static_cast<int>((high >> j) & 1u) << 4;
}

// [d: f16][32 fifth bits][16 bytes of halves]
void readQ5_0(const uint8_t *b, float *out) {
  float d = halfAt(b);
  uint32_t high;
  std::memcpy(&high, b + 2, sizeof high);
  const uint8_t *q = b + 6;
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(fiveBits(q[j] & 15, high, j) - 16) * d;
    out[j + 16] =
        static_cast<float>(fiveBits(q[j] >> 4, high, j + 16) - 16) * d;
  }
}

// [d: f16][m: f16][32 fifth bits][16 bytes of halves]
void readQ5_1(const uint8_t *b, float *out) {
  float d = halfAt(b), m = halfAt(b + 2);
  uint32_t high;
  std::memcpy(&high, b + 4, sizeof high);
  const uint8_t *q = b + 8;
  for (int j = 0; j < 16; ++j) {
    out[j] = static_cast<float>(fiveBits(q[j] & 15, high, j)) * d + m;
    out[j + 16] = static_cast<float>(fiveBits(q[j] >> 4, high, j + 16)) * d + m;
  }
}

/// The six-bit scale and minimum of group j of the eight in a Q4_K or Q5_K
/// block. The first four groups lie in the low six bits of bytes j and j + 4;
/// the others in bytes 8 to 11, their top two bits in what the first left.
struct ScaleAndMinimum {
  int scale, minimum;
  ScaleAndMinimum(const uint8_t *packed, int j) {
    if (j < 4) {
      scale = packed[j] & 63;
      minimum = packed[j + 4] & 63;
    } else {
      scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
      minimum = (packed[j + 4] >> 4) | (packed[j] >> 6) << 4;
    }
  }
};

// [d: f16][dmin: f16][12 bytes of scales][128 bytes of halves]
// Groups 2i and 2i + 1, of 32 values, are the low and high halves of 32 bytes.
void readQ4_K(const uint8_t *b, float *out) {
  float d = halfAt(b), dmin = halfAt(b + 2);
  for (int group = 0; group < 8; ++group) {
    const uint8_t *q = b + 16 + 32 * (group / 2);
    int shift = group % 2 * 4;
    ScaleAndMinimum packed(b + 4, group);
    float scale = d * static_cast<float>(packed.scale);
    float minimum = dmin * static_cast<float>(packed.minimum);
    for (int j = 0; j < 32; ++j)
      out[32 * group + j] =
          scale * static_cast<float>((q[j] >> shift) & 15) - minimum;
  }
}

// [d: f16][dmin: f16][12 bytes of scales][32 bytes of fifth bits]
// [128 bytes of halves]: as Q4_K; byte j holds group g's fifth bit in bit g.
void readQ5_K(const uint8_t *b, float *out) {
  float d = halfAt(b), dmin = halfAt(b + 2);
  const uint8_t *high = b + 16;
  for (int group = 0; group < 8; ++group) {
    const uint8_t *q = b + 48 + 32 * (group / 2);
    int shift = group % 2 * 4;
    ScaleAndMinimum packed(b + 4, group);
    float scale = d * static_cast<float>(packed.scale);
    float minimum = dmin * static_cast<float>(packed.minimum);
    for (int j = 0; j < 32; ++j) {
      int value = ((q[j] >> shift) & 15) | ((high[j] >> group) & 1) << 4;
      out[32 * group + j] = scale * static_cast<float>(value) - minimum;
    }
  }
}

// [128 bytes of low halves][64 bytes of high pairs][16 x i8 scales][d: f16]
// Per 128 values: group g of four, 32 values each, has its low bits in half
// g / 2 of bytes 32 * (g % 2) and on, its high bits in pair g of 32 bytes.
void readQ6_K(const uint8_t *b, float *out) {
  float d = halfAt(b + 208);
  for (int group = 0; group < 8; ++group) {
    int part = group / 4, g = group % 4;
    const uint8_t *low = b + 64 * part + 32 * (g % 2);
    const uint8_t *high = b + 128 + 32 * part;
    int lowShift = g / 2 * 4, highShift = 2 * g;
    for (int half = 0; half < 2; ++half) {
      auto stored = static_cast<int8_t>(b[192 + 2 * group + half]);
      float scale = d * static_cast<float>(stored);
      for (int j = 16 * half; j < 16 * half + 16; ++j) {
        int value = ((low[j] >> lowShift) & 15) | ((high[j] >> highShift) & 3)
                                                      << 4;
        out[32 * group + j] = scale * static_cast<float>(value - 32);
      }
    }
  }
}

template <void (*readBlock)(const uint8_t *, float *)>
void readAll(DType type, const std::byte *blocks, uint64_t count, float *out) {
  const auto *b = reinterpret_cast<const uint8_t *>(blocks);
  const int64_t bytes = blockBytes(type), elements = blockElements(type);
  for (uint64_t i = 0; i < count; ++i, b += bytes, out += elements)
    readBlock(b, out);
}

} // namespace

void dequantiseBlocks(DType type, const std::byte *blocks, uint64_t count,
                      float *out) {
  switch (type) {
  case DType::Q4_0:
    return readAll<readQ4_0>(type, blocks, count, out);
  case DType::Q4_1:
    return readAll<readQ4_1>(type, blocks, count, out);
  case DType::Q5_0:
    return readAll<readQ5_0>(type, blocks, count, out);
  case DType::Q5_1:
    return readAll<readQ5_1>(type, blocks, count, out);
  case DType::Q8_0:
    return readAll<readQ8_0>(type, blocks, count, out);
  case DType::Q4_K:
    return readAll<readQ4_K>(type, blocks, count, out);
  case DType::Q5_K:
    return readAll<readQ5_K>(type, blocks, count, out);
  case DType::Q6_K:
    return readAll<readQ6_K>(type, blocks, count, out);
  default:
    assert(false && "not a block type");
  }
}

} // namespace tandem

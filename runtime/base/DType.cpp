#include "runtime/base/DType.h"

#include <cassert>
#include <cstring>

namespace tandem {
namespace {

enum class Kind : uint8_t { Float, Integer, Boolean, Block };

struct Row {
  DType type;
  const char *name;
  int64_t elements;
  int64_t bytes;
  Kind kind;
};

constexpr Row rows[] = {
    {DType::F64, "f64", 1, 8, Kind::Float},
    {DType::F32, "f32", 1, 4, Kind::Float},
    {DType::F16, "f16", 1, 2, Kind::Float},
    {DType::BF16, "bf16", 1, 2, Kind::Float},
    {DType::I64, "i64", 1, 8, Kind::Integer},
    {DType::I32, "i32", 1, 4, Kind::Integer},
    {DType::I16, "i16", 1, 2, Kind::Integer},
    {DType::I8, "i8", 1, 1, Kind::Integer},
    {DType::U8, "ui8", 1, 1, Kind::Integer},
    {DType::Bool, "i1", 1, 1, Kind::Boolean},
    {DType::U16, "ui16", 1, 2, Kind::Integer},
    {DType::U32, "ui32", 1, 4, Kind::Integer},
    {DType::U64, "ui64", 1, 8, Kind::Integer},
    {DType::Q4_0, "Q4_0", 32, 18, Kind::Block},
    {DType::Q4_1, "Q4_1", 32, 20, Kind::Block},
    {DType::Q5_0, "Q5_0", 32, 22, Kind::Block},
    {DType::Q5_1, "Q5_1", 32, 24, Kind::Block},
    {DType::Q8_0, "Q8_0", 32, 34, Kind::Block},
    {DType::Q4_K, "Q4_K", 256, 144, Kind::Block},
    {DType::Q5_K, "Q5_K", 256, 176, Kind::Block},
    {DType::Q6_K, "Q6_K", 256, 210, Kind::Block},
};

const Row &rowOf(DType type) {
  for (const Row &row : rows)
    if (row.type == type)
      return row;
  assert(false && "not a DType");
  return rows[0];
}

} // namespace

int64_t blockElements(DType type) { return rowOf(type).elements; }
int64_t blockBytes(DType type) { return rowOf(type).bytes; }

int64_t storageBytes(DType type, int64_t elements) {
  const Row &row = rowOf(type);
  assert(elements % row.elements == 0 && "not whole blocks");
  return elements / row.elements * row.bytes;
}

bool isFloat(DType type) { return rowOf(type).kind == Kind::Float; }
bool isInteger(DType type) { return rowOf(type).kind == Kind::Integer; }
bool isQuantised(DType type) { return rowOf(type).kind == Kind::Block; }
std::string_view name(DType type) { return rowOf(type).name; }

std::optional<DType> parseDType(std::string_view name) {
  for (const Row &row : rows)
    if (name == row.name)
      return row.type;
  return std::nullopt;
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t fraction = bits & 0x3ffu;
  uint32_t wide;
  if (exponent == 0x1f) {
    wide = sign | 0x7f800000u | (fraction << 13);
  } else if (exponent != 0) {
    wide = sign | ((exponent + 112) << 23) | (fraction << 13);
  } else {
    // Subnormal halves are exact multiples of 2^-24 in float.
    float value = static_cast<float>(fraction) * 0x1p-24f;
    std::memcpy(&wide, &value, sizeof wide);
    wide |= sign;
  }
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return sign | 0x7e00u;
  if (magnitude >= 0x47800000u) // 65536 and above, infinity included
    return sign | 0x7c00u;
  if (magnitude < 0x38800000u) {
    // Below the smallest normal half: adding 0.5 aligns and rounds the bits.
    float absolute;
    std::memcpy(&absolute, &magnitude, sizeof absolute);
    absolute += 0.5f;
    uint32_t aligned;
    std::memcpy(&aligned, &absolute, sizeof aligned);
    return sign | static_cast<uint16_t>(aligned - 0x3f000000u);
  }
  uint32_t odd = (magnitude >> 13) & 1u;
  uint32_t rounded = magnitude - (112u << 23) + 0xfffu + odd;
  return sign | static_cast<uint16_t>(rounded >> 13);
}

uint16_t floatToBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

} // namespace tandem

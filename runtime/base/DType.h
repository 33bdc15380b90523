//===- DType.h - Element types of tensors and of stored files --*- C++ -*-===//
//
// One enumeration for compute types and for the quantised block types that
// only files hold. Values are stable: plans store them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_BASE_DTYPE_H
#define TANDEM_RUNTIME_BASE_DTYPE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

enum class DType : uint8_t {
  F64 = 0,
  F32 = 1,
  F16 = 2,
  BF16 = 3,
  I64 = 4,
  I32 = 5,
  I16 = 6,
  I8 = 7,
  U8 = 8,
  Bool = 9,
  U16 = 10,
  U32 = 11,
  U64 = 12,
  // GGUF's block types: `blockElements` values share `blockBytes` bytes.
  Q4_0 = 32,
  Q4_1 = 33,
  Q5_0 = 34,
  Q5_1 = 35,
  Q8_0 = 36,
  Q4_K = 37,
  Q5_K = 38,
  Q6_K = 39,
};

/// Elements that one block holds: 1 for plain types.
int64_t blockElements(DType type);
/// Bytes of one block: of one element for plain types.
int64_t blockBytes(DType type);
/// Bytes of `elements` elements; `elements` is a multiple of blockElements.
int64_t storageBytes(DType type, int64_t elements);
bool isFloat(DType type);
bool isInteger(DType type); ///< Bool is none.
bool isQuantised(DType type);
/// The name as MLIR prints it (`f32`, `i32`, `ui8`, `i1`), GGUF's for blocks.
std::string_view name(DType type);
/// The type of that MLIR name or block name, nothing where there is none.
std::optional<DType> parseDType(std::string_view name);

/// IEEE half and bfloat16 as stored bits, to and from float, rounding to
/// nearest even.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
inline float bfloatToFloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof value);
  return value;
}
uint16_t floatToBfloat(float value);

} // namespace tandem

#endif // TANDEM_RUNTIME_BASE_DTYPE_H

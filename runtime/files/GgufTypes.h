//===- GgufTypes.h - The numbers GGUF gives to types ------------*- C++ -*-===//
//
// Internal to the GGUF reader: tensor types and metadata value types.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_GGUFTYPES_H
#define TANDEM_RUNTIME_FILES_GGUFTYPES_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

namespace tandem {

enum class GgufValueType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};

/// Fewest bytes a value of `type` takes; 0 where there is no such type.
uint64_t ggufLeastBytes(GgufValueType type);

/// The element type of the tensor type `number`; refuses unknown ones, and
/// those it knows by name but does not read.
Result<DType> ggufTensorType(uint32_t number);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_GGUFTYPES_H

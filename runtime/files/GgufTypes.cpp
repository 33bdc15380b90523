#include "runtime/files/GgufTypes.h"

namespace tandem {
namespace {

struct TensorType {
  uint32_t number;
  const char *name;
  std::optional<DType> dtype;
};

constexpr TensorType tensorTypes[] = {
    {0, "F32", DType::F32},        {1, "F16", DType::F16},
    {2, "Q4_0", DType::Q4_0},      {3, "Q4_1", DType::Q4_1},
    {6, "Q5_0", DType::Q5_0},      {7, "Q5_1", DType::Q5_1},
    {8, "Q8_0", DType::Q8_0},      {9, "Q8_1", std::nullopt},
    {10, "Q2_K", std::nullopt},    {11, "Q3_K", std::nullopt},
    {12, "Q4_K", DType::Q4_K},     {13, "Q5_K", DType::Q5_K},
    {14, "Q6_K", DType::Q6_K},     {15, "Q8_K", std::nullopt},
    {16, "IQ2_XXS", std::nullopt}, {17, "IQ2_XS", std::nullopt},
    {18, "IQ3_XXS", std::nullopt}, {19, "IQ1_S", std::nullopt},
    {20, "IQ4_NL", std::nullopt},  {21, "IQ3_S", std::nullopt},
    {22, "IQ2_S", std::nullopt},   {23, "IQ4_XS", std::nullopt},
    {24, "I8", DType::I8},         {25, "I16", DType::I16},
    {26, "I32", DType::I32},       {27, "I64", DType::I64},
    {28, "F64", DType::F64},       {29, "IQ1_M", std::nullopt},
    {30, "BF16", DType::BF16},     {34, "TQ1_0", std::nullopt},
    {35, "TQ2_0", std::nullopt},   {39, "MXFP4", std::nullopt},
};

} // namespace

uint64_t ggufLeastBytes(GgufValueType type) {
  switch (type) {
  case GgufValueType::U8:
  case GgufValueType::I8:
  case GgufValueType::Bool:
    return 1;
  case GgufValueType::U16:
  case GgufValueType::I16:
    return 2;
  case GgufValueType::U32:
  case GgufValueType::I32:
  case GgufValueType::F32:
    return 4;
  case GgufValueType::String:
  case GgufValueType::U64:
  case GgufValueType::I64:
  case GgufValueType::F64:
    return 8;
  case GgufValueType::Array:
    return 12;
  }
  return 0;
}

Result<DType> ggufTensorType(uint32_t number) {
  std::string known;
  for (const TensorType &row : tensorTypes) {
    if (row.number == number && row.dtype)
      return *row.dtype;
    if (row.dtype)
      known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  for (const TensorType &row : tensorTypes)
    if (row.number == number)
      return Status::refused("the type " + std::string(row.name) +
                             " is not supported; supported are " + known);
  return Status::refused("unknown type " + std::to_string(number) +
                         "; supported are " + known);
}

} // namespace tandem

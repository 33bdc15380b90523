#include "runtime/base/DType.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tandem;

TEST(DType, NamesRoundTrip) {
  for (DType type :
       {DType::F64,  DType::F32,  DType::F16,  DType::BF16, DType::I64,
        DType::I32,  DType::I16,  DType::I8,   DType::U8,   DType::Bool,
        DType::U16,  DType::U32,  DType::U64,  DType::Q4_0, DType::Q4_1,
        DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q4_K, DType::Q5_K,
        DType::Q6_K})
    EXPECT_EQ(parseDType(name(type)), type);
  EXPECT_EQ(parseDType("f8"), std::nullopt);
}

TEST(DType, BlockSizesAreThoseOfTheFormat) {
  EXPECT_EQ(storageBytes(DType::F32, 3), 12);
  EXPECT_EQ(storageBytes(DType::Q8_0, 64), 68);
  EXPECT_EQ(storageBytes(DType::Q4_1, 64), 40);
  EXPECT_EQ(storageBytes(DType::Q6_K, 512), 420);
}

TEST(DType, HalfRoundTripsEveryFiniteValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
    else
      EXPECT_EQ(floatToHalf(value), bits);
  }
}

TEST(DType, HalfRoundsToNearestEven) {
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f), 0x3c00);     // tie, to even
  EXPECT_EQ(floatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02); // tie, to even
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(floatToHalf(65504.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00); // rounds past the largest
  EXPECT_EQ(floatToHalf(0x1p-25f), 0x0000); // tie, to even
  EXPECT_EQ(floatToHalf(std::numeric_limits<float>::infinity()), 0x7c00);
}

TEST(DType, BfloatRoundsToNearestEven) {
  EXPECT_EQ(floatToBfloat(1.0f), 0x3f80);
  EXPECT_EQ(floatToBfloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(floatToBfloat(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(bfloatToFloat(floatToBfloat(-2.5f)), -2.5f);
}

#include "runtime/comm/Reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace tandem;

namespace {

template <typename T>
std::vector<T> reduced(const std::vector<std::vector<T>> &inputs, DType dtype,
                       ReductionKind kind) {
  std::vector<const void *> addresses;
  for (const std::vector<T> &input : inputs)
    addresses.push_back(input.data());
  std::vector<T> out(inputs[0].size());
  reduceInTree(addresses.data(), inputs.size(), out.data(), out.size(), dtype,
               kind);
  return out;
}

TEST(Reduce, AddsInTheOrderGiven) {
  // (1e8 + 1) - 1e8 is 0 in float, (1e8 - 1e8) + 1 is 1.
  std::vector<float> large{1e8f}, one{1.0f}, minus{-1e8f};
  EXPECT_EQ(
      reduced<float>({large, one, minus}, DType::F32, ReductionKind::Sum)[0],
      0.0f);
  EXPECT_EQ(
      reduced<float>({large, minus, one}, DType::F32, ReductionKind::Sum)[0],
      1.0f);
}

TEST(Reduce, AddsInABinaryTree) {
  // A large term swallows what is added to it alone, not what came together.
  std::vector<float> terms{1e8f, 3, 3, 3, 3, -1e8f, 1, 1, 5};
  std::vector<std::vector<float>> inputs;
  for (float term : terms)
    inputs.push_back({term});
  float expected = (((terms[0] + terms[1]) + (terms[2] + terms[3])) +
                    ((terms[4] + terms[5]) + (terms[6] + terms[7]))) +
                   terms[8];
  EXPECT_EQ(reduced<float>(inputs, DType::F32, ReductionKind::Sum)[0],
            expected);
}

TEST(Reduce, RoundsNarrowFloatsOnce) {
  // 256 + 1 + 1 in bfloat16: rounding each sum gives 256, rounding once 258.
  std::vector<uint16_t> large{floatToBfloat(256)}, one{floatToBfloat(1)};
  EXPECT_EQ(bfloatToFloat(reduced<uint16_t>({large, one, one}, DType::BF16,
                                            ReductionKind::Sum)[0]),
            258.0f);
  // The same for half at 2048, whose neighbours are 2 apart.
  std::vector<uint16_t> half{floatToHalf(2048)}, single{floatToHalf(1)};
  EXPECT_EQ(halfToFloat(reduced<uint16_t>({half, single, single}, DType::F16,
                                          ReductionKind::Sum)[0]),
            2050.0f);
}

TEST(Reduce, RoundsBfloatAsTheBaseDoes) {
  std::vector<uint16_t> zero{0}, other{0};
  for (uint32_t high = 0; high < 0x10000; ++high) {
    float value = bfloatToFloat(static_cast<uint16_t>(high));
    if (std::isnan(value))
      continue;
    // a + b with b half a unit below a: exercises both roundings.
    other[0] = static_cast<uint16_t>(high);
    zero[0] = floatToBfloat(value * 0.00390625f);
    float sum = value + bfloatToFloat(zero[0]);
    EXPECT_EQ(
        reduced<uint16_t>({other, zero}, DType::BF16, ReductionKind::Sum)[0],
        floatToBfloat(sum))
        << high;
  }
}

TEST(Reduce, WrapsIntegersAround) {
  std::vector<int8_t> a{127, -128, 100}, b{1, -1, 100};
  EXPECT_EQ(reduced<int8_t>({a, b}, DType::I8, ReductionKind::Sum),
            (std::vector<int8_t>{-128, 127, -56}));
  std::vector<int64_t> most{std::numeric_limits<int64_t>::max()}, one{1};
  EXPECT_EQ(reduced<int64_t>({most, one}, DType::I64, ReductionKind::Sum)[0],
            std::numeric_limits<int64_t>::min());
}

TEST(Reduce, KeepsIntegersExact) {
  // 2^53 + 1 is no double, 2^24 + 1 no float.
  std::vector<int64_t> wide{int64_t(1) << 53}, one{1};
  EXPECT_EQ(reduced<int64_t>({wide, one}, DType::I64, ReductionKind::Sum)[0],
            (int64_t(1) << 53) + 1);
  std::vector<int32_t> narrow{1 << 24}, single{1};
  EXPECT_EQ(
      reduced<int32_t>({narrow, single}, DType::I32, ReductionKind::Sum)[0],
      (1 << 24) + 1);
}

TEST(Reduce, ComparesUnsignedAsUnsigned) {
  std::vector<uint64_t> large{~uint64_t(0)}, small{1};
  EXPECT_EQ(
      reduced<uint64_t>({small, large}, DType::U64, ReductionKind::Max)[0],
      ~uint64_t(0));
  std::vector<uint8_t> high{200}, low{3};
  EXPECT_EQ(reduced<uint8_t>({high, low}, DType::U8, ReductionKind::Min)[0], 3);
}

TEST(Reduce, NaNWinsWhereverItStands) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    for (size_t where = 0; where < 3; ++where) {
      std::vector<std::vector<float>> inputs{{1.0f}, {2.0f}, {3.0f}};
      inputs[where][0] = nan;
      EXPECT_TRUE(std::isnan(reduced<float>(inputs, DType::F32, kind)[0]));
      std::vector<std::vector<uint16_t>> narrow{
          {floatToBfloat(1)}, {floatToBfloat(2)}, {floatToBfloat(3)}};
      narrow[where][0] = floatToBfloat(nan);
      EXPECT_TRUE(std::isnan(
          bfloatToFloat(reduced<uint16_t>(narrow, DType::BF16, kind)[0])));
    }
}

TEST(Reduce, BoolsAreOrAndAnd) {
  std::vector<uint8_t> a{0, 0, 1, 1}, b{0, 1, 0, 1};
  EXPECT_EQ(reduced<uint8_t>({a, b}, DType::Bool, ReductionKind::Max),
            (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(reduced<uint8_t>({a, b}, DType::Bool, ReductionKind::Min),
            (std::vector<uint8_t>{0, 0, 0, 1}));
}

TEST(Reduce, AnInputMayBeTheOutput) {
  for (size_t which : {0, 1, 2}) {
    std::vector<std::vector<double>> inputs(3, std::vector<double>(3000));
    for (size_t operand = 0; operand < 3; ++operand)
      for (size_t i = 0; i < 3000; ++i)
        inputs[operand][i] = static_cast<double>(operand * 10000 + i);
    const void *addresses[] = {inputs[0].data(), inputs[1].data(),
                               inputs[2].data()};
    reduceInTree(addresses, 3, inputs[which].data(), 3000, DType::F64,
                 ReductionKind::Sum);
    for (size_t i = 0; i < 3000; ++i)
      ASSERT_EQ(inputs[which][i], 30000.0 + 3.0 * static_cast<double>(i));
  }
}

TEST(Reduce, OneOperandIsCopied) {
  EXPECT_EQ(reduced<float>({{1.5f, -0.0f}}, DType::F32, ReductionKind::Max),
            (std::vector<float>{1.5f, -0.0f}));
}

TEST(Reduce, RefusesWhatHasNoSum) {
  EXPECT_TRUE(checkReduction(DType::F16, ReductionKind::Sum).ok());
  EXPECT_TRUE(checkReduction(DType::Bool, ReductionKind::Max).ok());
  EXPECT_EQ(checkReduction(DType::Bool, ReductionKind::Sum).message(),
            "cannot reduce elements of type i1 by sum");
  EXPECT_EQ(checkReduction(DType::Q4_0, ReductionKind::Min).message(),
            "cannot reduce elements of type Q4_0 by min");
}

TEST(Reduce, CutsPiecesAtTheCeiling) {
  EXPECT_EQ(pieceOf(10, 4, 0).count, 3);
  EXPECT_EQ(pieceOf(10, 4, 3).begin, 9);
  EXPECT_EQ(pieceOf(10, 4, 3).count, 1);
  // 5 over 4: pieces of 2, 2, 1 and none.
  EXPECT_EQ(pieceOf(5, 4, 2).count, 1);
  EXPECT_EQ(pieceOf(5, 4, 3).count, 0);
  EXPECT_EQ(pieceOf(0, 3, 1).count, 0);
}

} // namespace

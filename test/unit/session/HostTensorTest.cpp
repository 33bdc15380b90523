#include "runtime/session/HostTensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace tandem {
namespace {

template <typename T>
HostTensor tensorOf(DType dtype, const std::vector<T> &values) {
  HostTensor tensor(dtype, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.data.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

TEST(HostTensor, IntegersNarrowWhereTheyFit) {
  Result<HostTensor> small =
      convertExactly(tensorOf<int64_t>(DType::I64, {-7, 0, 4096}), DType::I32);
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->as<int32_t>()[0], -7);
  EXPECT_EQ(small->as<int32_t>()[2], 4096);
  Result<HostTensor> large = convertExactly(
      tensorOf<int64_t>(DType::I64, {1, int64_t(1) << 40}), DType::I32);
  ASSERT_FALSE(large.ok());
  EXPECT_NE(large.status().message().find("1099511627776"), std::string::npos)
      << large.status().message();
}

TEST(HostTensor, WholeFloatsAreIntegers) {
  Result<HostTensor> whole =
      convertExactly(tensorOf<float>(DType::F32, {3, -2}), DType::I32);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->as<int32_t>()[1], -2);
  EXPECT_FALSE(
      convertExactly(tensorOf<float>(DType::F32, {3.5f}), DType::I32).ok());
}

TEST(HostTensor, FloatsConvertWithoutRoundingOnly) {
  EXPECT_TRUE(
      convertExactly(tensorOf<double>(DType::F64, {0.5, -1024}), DType::BF16)
          .ok());
  Result<HostTensor> tenth =
      convertExactly(tensorOf<double>(DType::F64, {0.5, 0.1}), DType::F32);
  ASSERT_FALSE(tenth.ok());
  EXPECT_EQ(tenth.status().message(),
            "element 1 is 0.10000000000000001, which is no f32 value");
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(
      convertExactly(tensorOf<double>(DType::F64, {nan}), DType::F32).ok());
}

TEST(HostTensor, BoxesGoFromPlaceToPlace) {
  // Rows 1..2 and columns 0..1 of [3, 4] into the middle of [4, 3].
  std::vector<int8_t> from(12), to(12, -1);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<int8_t>(i);
  copyBox(reinterpret_cast<std::byte *>(from.data()), {{3, 4}, {1, 0}},
          reinterpret_cast<std::byte *>(to.data()), {{4, 3}, {1, 1}}, {2, 2},
          1);
  EXPECT_EQ(to,
            (std::vector<int8_t>{-1, -1, -1, -1, 4, 5, -1, 8, 9, -1, -1, -1}));
}

TEST(HostTensor, BoxesOfAnyRank) {
  int8_t from = 5, to = 0;
  copyBox(reinterpret_cast<std::byte *>(&from), {{}, {}},
          reinterpret_cast<std::byte *>(&to), {{}, {}}, {}, 1);
  EXPECT_EQ(to, 5);
  std::vector<int8_t> cube(27), out(8, 0);
  for (size_t i = 0; i < cube.size(); ++i)
    cube[i] = static_cast<int8_t>(i);
  copyBox(reinterpret_cast<std::byte *>(cube.data()), {{3, 3, 3}, {1, 1, 1}},
          reinterpret_cast<std::byte *>(out.data()), {{2, 2, 2}, {0, 0, 0}},
          {2, 2, 2}, 1);
  EXPECT_EQ(out, (std::vector<int8_t>{13, 14, 16, 17, 22, 23, 25, 26}));
}

TEST(HostTensor, EmptyBoxesCopyNothing) {
  std::vector<int8_t> out(1, 9);
  copyBox(nullptr, {{0, 3}, {0, 0}}, reinterpret_cast<std::byte *>(out.data()),
          {{1, 1}, {0, 0}}, {0, 1}, 1);
  EXPECT_EQ(out[0], 9);
}

} // namespace
} // namespace tandem

//===- DrawnTensorTest.cpp - Values that expected.py computes
//--------------===//

#include "runtime/session/DrawnTensor.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DrawnTensor, ElementsAreThoseOfTheDefinition) {
  DrawnTensor table(0, "wte.weight", 0, 1);
  EXPECT_NEAR(table.element(0), 0.1693413759031671, 1e-15);
  EXPECT_NEAR(table.element(1), 0.02884262453301644, 1e-15);
  EXPECT_NEAR(DrawnTensor(1, "wte.weight", 0, 1).element(0), 1.334682579631573,
              1e-15);
  EXPECT_NEAR(DrawnTensor(0, "h.0.ln_1.weight", 0, 1).element(0),
              2.8106135978782567, 1e-15);
  EXPECT_NEAR(DrawnTensor(uint64_t(1) << 40, "wte.weight", 0, 1)
                  .element(uint64_t(1) << 33),
              1.0211851253306792, 1e-15);
}

TEST(DrawnTensor, ScalesAndShifts) {
  EXPECT_NEAR(DrawnTensor(0, "wte.weight", 3, 0.5).element(0),
              3 + 0.5 * 0.1693413759031671, 1e-15);
  EXPECT_EQ(DrawnTensor(0, "norm.weight", 1, 0).element(5), 1);
}

TEST(DrawnTensor, MomentsAreTheNormalDistributions) {
  DrawnTensor tensor(4, "w", 0, 1);
  constexpr int count = 100000;
  double sum = 0, squares = 0, cubes = 0, fourths = 0;
  for (uint64_t i = 0; i < count; ++i) {
    double x = tensor.element(i);
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
  }
  // Five standard errors of each.
  double error = 5 / std::sqrt(count);
  EXPECT_NEAR(sum / count, 0, error);
  EXPECT_NEAR(squares / count, 1, error * std::sqrt(2));
  EXPECT_NEAR(cubes / count, 0, error * std::sqrt(15));
  EXPECT_NEAR(fourths / count, 3, error * std::sqrt(96));
}

/// A view of a stored [6, 700] tensor, in which `stride` leads from an output
/// row to the next.
void expectView(const StridedView &view, const std::vector<int64_t> &strides,
                DType dtype) {
  DrawnTensor tensor(2, "w", 0, 0.02);
  std::vector<std::byte> out(
      static_cast<size_t>(view.sizes[0] * strides[0] * blockBytes(dtype)));
  ASSERT_TRUE(tensor.draw(view, dtype, out.data(), strides).ok());
  for (int64_t i = 0; i < view.sizes[0]; ++i)
    for (int64_t j = 0; j < view.sizes[1]; ++j) {
      auto index =
          static_cast<uint64_t>(static_cast<int64_t>(view.offset) +
                                i * view.strides[0] + j * view.strides[1]);
      auto expected = static_cast<float>(tensor.element(index));
      const std::byte *at =
          out.data() + (i * strides[0] + j * strides[1]) * blockBytes(dtype);
      if (dtype == DType::BF16) {
        uint16_t bits;
        std::copy_n(at, 2, reinterpret_cast<std::byte *>(&bits));
        EXPECT_EQ(bits, floatToBfloat(expected)) << i << " " << j;
      } else {
        float value;
        std::copy_n(at, 4, reinterpret_cast<std::byte *>(&value));
        EXPECT_EQ(value, expected) << i << " " << j;
      }
    }
}

TEST(DrawnTensor, ViewsGiveTheSameElements) {
  expectView({0, {6, 700}, {700, 1}}, {700, 1}, DType::F32);
  expectView({2 * 700 + 300, {3, 400}, {700, 1}}, {512, 1}, DType::F32);
  expectView({0, {700, 6}, {1, 700}}, {6, 1}, DType::F32); // transposed
  expectView({1, {6, 350}, {700, 2}}, {350, 1}, DType::BF16);
}

TEST(DrawnTensor, AViewWithoutDimensionsIsOneElement) {
  DrawnTensor tensor(2, "w", 0, 1);
  float value = 0;
  ASSERT_TRUE(tensor
                  .draw({3, {}, {}}, DType::F32,
                        reinterpret_cast<std::byte *>(&value), {})
                  .ok());
  EXPECT_EQ(value, static_cast<float>(tensor.element(3)));
}

} // namespace
} // namespace tandem

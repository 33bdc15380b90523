#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

constexpr int64_t kIgnored = -100;
const DType kFloats[] = {DType::F32, DType::F64, DType::BF16, DType::F16};

double tolerance(DType type) {
  return type == DType::F64 ? 1e-13 : type == DType::F32 ? 2e-6 : 5e-3;
}

DType sumType(DType type) {
  return type == DType::F64 ? DType::F64 : DType::F32;
}

/// log(sum(exp)) of the row that starts with `at`, straight.
double lseOf(const TestTensor &logits, Index at) {
  double largest = -INFINITY, sum = 0;
  at.push_back(0);
  for (int pass = 0; pass < 2; ++pass)
    for (at.back() = 0; at.back() < logits.shape().back(); ++at.back())
      if (pass == 0)
        largest = std::max(largest, logits.at(at));
      else
        sum += std::exp(logits.at(at) - largest);
  return largest + std::log(sum);
}

TEST(CrossEntropy, LossAndSum) {
  std::mt19937 generator(5);
  for (DType type : kFloats)
    for (int64_t v : {1, 7, 97, 1300}) {
      TestTensor logits(type, {extent(3, 1), extent(4, 2), extent(v)});
      TestTensor labels(DType::I32, {extent(3, 1), extent(4, 2)});
      TestTensor loss(sumType(type), {extent(3, 1), extent(4, 2)});
      TestTensor lse(sumType(type), {extent(3, 1), extent(4, 2)});
      logits.random(generator, -9, 9);
      labels.fill([&](const Index &i) {
        return i[1] == 2 ? kIgnored : static_cast<int64_t>(generator() % v);
      });
      TestCall call{
          "cross_entropy", {&logits, &labels}, {&loss, &lse}, {kIgnored}, ""};
      ASSERT_TRUE(call.run().ok());
      double bound = std::min(tolerance(type), 2e-6);
      expectLanes(lse, [&](const Index &i) { return lseOf(logits, i); }, bound);
      expectLanes(
          loss,
          [&](const Index &i) {
            auto label = static_cast<int64_t>(labels.at(i));
            return label == kIgnored
                       ? 0
                       : lseOf(logits, i) - logits.at({i[0], i[1], label});
          },
          bound);
    }
}

/// Lanes [begin, begin + valid) of 60 words on this rank.
void expectGradient(DType type, int64_t begin, int64_t valid) {
  std::mt19937 generator(6);
  std::vector<TensorDim> rows = {extent(2, 1), extent(5, 1)};
  TestTensor logits(type,
                    {rows[0], rows[1], extent(valid, 60 - valid, begin, 60)});
  TestTensor labels(DType::I32, rows), lse(sumType(type), rows);
  TestTensor g(sumType(type), rows), out(type, logits.dims());
  logits.random(generator, -4, 4);
  labels.fill([&](const Index &i) {
    return i[1] == 3 ? kIgnored : static_cast<int64_t>(generator() % 60);
  });
  lse.random(generator, 4, 6);
  g.random(generator, -1, 1);
  g.set({1, 3}, NAN); // of an ignored label
  TestCall call{"cross_entropy_grad",
                {&logits, &labels, &lse, &g},
                {&out},
                {kIgnored},
                ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      out,
      [&](const Index &i) {
        Index row = {i[0], i[1]};
        if (labels.at(row) == kIgnored)
          return 0.0;
        double share = std::exp(logits.at(i) - lse.at(row));
        return (share - (labels.at(row) == begin + i[2])) * g.at(row);
      },
      tolerance(type));
}

TEST(CrossEntropy, GradientOfOwnLanes) {
  for (DType type : kFloats) {
    expectGradient(type, 0, 60);
    expectGradient(type, 0, 20);
    expectGradient(type, 20, 20);
    expectGradient(type, 40, 20);
    expectGradient(type, 60, 0);
  }
}

TEST(CrossEntropy, GradientInTilesFindsTheLabel) {
  TestTensor logits(DType::F32, {extent(1, 0), extent(1200)});
  TestTensor labels(DType::I64, {extent(1)}), lse(DType::F32, {extent(1)});
  TestTensor g(DType::F32, {extent(1)}), out(DType::F32, logits.dims());
  logits.fill([](const Index &) { return 0; });
  labels.set({0}, 1023);
  lse.set({0}, std::log(1200.0));
  g.set({0}, 2);
  TestCall call{"cross_entropy_grad",
                {&logits, &labels, &lse, &g},
                {&out},
                {kIgnored},
                ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      out, [](const Index &i) { return 2.0 / 1200 - 2 * (i[1] == 1023); },
      1e-6);
}

TEST(CrossEntropy, OneRowWithoutDimensions) {
  TestTensor logits(DType::F32, {extent(2)}), labels(DType::I32, {});
  TestTensor loss(DType::F32, {}), lse(DType::F32, {});
  logits.fill([](const Index &) { return 1; });
  labels.set({}, 1);
  TestCall call{
      "cross_entropy", {&logits, &labels}, {&loss, &lse}, {kIgnored}, ""};
  ASSERT_TRUE(call.run().ok());
  EXPECT_NEAR(loss.at({}), std::log(2), 1e-6);
  EXPECT_NEAR(lse.at({}), 1 + std::log(2), 1e-6);
}

TEST(CrossEntropy, Refusals) {
  TestTensor logits(DType::F32, {extent(2), extent(5)});
  TestTensor labels(DType::I32, {extent(2)}), row(DType::F32, {extent(2)});
  TestTensor lse(DType::F32, {extent(2)}), out(DType::F32, logits.dims());
  logits.fill([](const Index &) { return 0; });
  labels.fill([](const Index &) { return 5; });
  TestCall loss{
      "cross_entropy", {&logits, &labels}, {&row, &lse}, {kIgnored}, ""};
  EXPECT_EQ(loss.run().message(),
            "cross_entropy: label 5 is outside the vocabulary of 5, and not "
            "the ignored label -100");
  TestCall grad{"cross_entropy_grad",
                {&logits, &labels, &lse, &row},
                {&out},
                {kIgnored},
                ""};
  EXPECT_EQ(grad.run().message(),
            "cross_entropy_grad: label 5 is outside the vocabulary of 5, and "
            "not the ignored label -100");
  TestTensor part(DType::F32, {extent(2), extent(5, 0, 5, 10)});
  loss.inputs[0] = &part;
  EXPECT_EQ(loss.check().message(), "cross_entropy: the vocabulary is split: a "
                                    "rank has 5 of 10 logits");
  TestTensor wrong(DType::F32, {extent(3)});
  grad.inputs[2] = &wrong;
  EXPECT_EQ(grad.check().message(),
            "cross_entropy_grad: dimension 0 of input 2 is 3 but dimension 0 "
            "of input 0 is 2");
}

} // namespace

#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

double tolerance(DType type) {
  return type == DType::F64 ? 1e-13 : type == DType::F32 ? 3e-6 : 5e-3;
}

const DType kFloats[] = {DType::F32, DType::F64, DType::BF16, DType::F16};

/// Row statistics in float64; lanes are visited in row-major order.
struct Row {
  double mean = 0, squares = 0, deviations = 0, largest = -INFINITY, mass = 0;
};
Row rowOf(const TestTensor &x, Index at) {
  Row row;
  int64_t n = x.shape().back();
  for (int pass = 0; pass < 2; ++pass)
    for (at.back() = 0; at.back() < n; ++at.back()) {
      double value = x.at(at);
      if (pass == 0) {
        row.mean += value / n;
        row.squares += value * value / n;
        row.largest = std::max(row.largest, value);
      } else {
        row.deviations += (value - row.mean) * (value - row.mean) / n;
        row.mass += std::exp(value - row.largest);
      }
    }
  return row;
}

TEST(Norm, RmsNorm) {
  std::mt19937 generator(1);
  for (DType type : kFloats)
    for (int64_t d : {1, 23, 700}) {
      TestTensor x(type, {extent(3, 1), extent(4, 2), extent(d, 3)});
      TestTensor w(DType::F32, {extent(d, 3)});
      TestTensor y(type, {extent(3, 1), extent(4, 2), extent(d, 3)});
      x.random(generator, -3, 3);
      w.random(generator, -1, 1);
      TestCall call{"rms_norm", {&x, &w}, {&y}, {bitsOf(1e-2), bitsOf(1)}, ""};
      ASSERT_TRUE(call.run().ok());
      Row row;
      expectLanes(
          y,
          [&](const Index &i) {
            row = i.back() == 0 ? rowOf(x, i) : row;
            return x.at(i) / std::sqrt(row.squares + 1e-2) * (1 + w.at({i[2]}));
          },
          tolerance(type));
    }
}

TEST(Norm, LayerNorm) {
  std::mt19937 generator(1);
  for (DType type : kFloats)
    for (bool biased : {false, true}) {
      TestTensor x(type, {extent(5, 1), extent(600, 3)});
      TestTensor w(type, {extent(600, 3)}), b(type, {extent(600, 3)});
      TestTensor y(type, {extent(5, 1), extent(600, 3)});
      x.random(generator, 2, 4);
      w.random(generator, -1, 1);
      b.random(generator, -1, 1);
      TestCall call{"layer_norm", {&x, &w}, {&y}, {bitsOf(1e-5)}, ""};
      if (biased)
        call.inputs.push_back(&b);
      ASSERT_TRUE(call.run().ok());
      Row row;
      expectLanes(
          y,
          [&](const Index &i) {
            row = i.back() == 0 ? rowOf(x, i) : row;
            return (x.at(i) - row.mean) / std::sqrt(row.deviations + 1e-5) *
                       w.at({i[1]}) +
                   (biased ? b.at({i[1]}) : 0);
          },
          tolerance(type));
    }
}

TEST(Softmax, OverValidLanes) {
  std::mt19937 generator(1);
  for (DType type : kFloats) {
    TestTensor x(type, {extent(3, 1), extent(1100, 7)});
    TestTensor y(type, {extent(3, 1), extent(1100, 7)});
    x.random(generator, -9, 9);
    TestCall call{"softmax", {&x}, {&y}, {}, ""};
    ASSERT_TRUE(call.run().ok());
    Row row;
    expectLanes(
        y,
        [&](const Index &i) {
          row = i.back() == 0 ? rowOf(x, i) : row;
          return std::exp(x.at(i) - row.largest) / row.mass;
        },
        tolerance(type));
  }
}

TEST(Rope, BothStyles) {
  std::mt19937 generator(2);
  for (DType type : kFloats)
    for (int64_t style : {0, 1})
      for (int64_t rotary : {0, 6, 20, 24}) {
        TestTensor x(type,
                     {extent(2, 1), extent(3, 1, 4), extent(3, 1), extent(24)});
        TestTensor y(type, x.dims());
        TestTensor positions(DType::I32, {extent(2, 1)});
        x.random(generator, -1, 1);
        positions.fill([](const Index &i) { return i[0] == 0 ? 3 : 90017; });
        std::vector<double> frequency;
        std::vector<int64_t> numbers = {style, rotary, bitsOf(1.25)};
        for (int64_t j = 0; j < rotary / 2; ++j) {
          frequency.push_back(std::pow(10000.0, -2.0 * j / rotary));
          numbers.push_back(bitsOf(frequency.back()));
        }
        TestCall call{"rope", {&x, &positions}, {&y}, numbers, ""};
        ASSERT_TRUE(call.run().ok());
        auto want = [&](const Index &i) {
          int64_t lane = i[3], half = rotary / 2;
          if (lane >= rotary)
            return x.at(i);
          int64_t pair = style == 0 ? lane % half : lane / 2;
          bool first = style == 0 ? lane < half : lane % 2 == 0;
          int64_t mate =
              style == 0 ? (first ? lane + half : lane - half) : lane ^ 1;
          double angle = (positions.at({i[0]}) + 4 + i[1]) * frequency[pair];
          Index other = {i[0], i[1], i[2], mate};
          return 1.25 * (x.at(i) * std::cos(angle) +
                         (first ? -1 : 1) * x.at(other) * std::sin(angle));
        };
        expectLanes(y, want, tolerance(type));
      }
}

TEST(Reduce, AnyDimensions) {
  std::mt19937 generator(2);
  for (DType type : {DType::F32, DType::F64, DType::I32})
    for (int64_t kind : {0, 1, 2})
      for (const char *result : {"a", "b", "c", "ab", "ac", "bc", "", "abc"}) {
        SCOPED_TRACE(result);
        std::string letters = result;
        std::vector<TensorDim> all = {extent(3, 1), extent(5, 2),
                                      extent(17, 1)};
        std::vector<TensorDim> kept;
        for (char letter : letters)
          kept.push_back(all[letter - 'a']);
        TestTensor x(type, all), y(type, kept);
        x.random(generator, -50, 50);
        TestCall call{"reduce", {&x}, {&y}, {kind}, "abc->" + letters};
        ASSERT_TRUE(call.run().ok());
        auto want = [&](const Index &o) {
          double total = kind == 0 ? 0 : kind == 1 ? -INFINITY : INFINITY;
          forEachIndex(x.shape(), [&](const Index &i) {
            for (size_t d = 0; d < o.size(); ++d)
              if (i[letters[d] - 'a'] != o[d])
                return;
            double value = x.at(i);
            total = kind == 0   ? total + value
                    : kind == 1 ? std::max(total, value)
                                : std::min(total, value);
          });
          return total;
        };
        expectLanes(y, want, tolerance(type));
      }
}

TEST(Reduce, NothingGivesTheNeutralElement) {
  TestTensor x(DType::F32, {extent(2), extent(0, 3)}),
      y(DType::F32, {extent(2)});
  std::vector<double> want = {0, -INFINITY, INFINITY};
  for (int64_t kind : {0, 1, 2}) {
    TestCall call{"reduce", {&x}, {&y}, {kind}, "ab->a"};
    ASSERT_TRUE(call.run().ok());
    expectLanes(y, [&](const Index &) { return want[kind]; }, 0);
  }
}

TEST(CumulativeSum, ExclusiveAndReverse) {
  std::mt19937 generator(2);
  for (int64_t dim : {0, 1})
    for (int64_t exclusive : {0, 1})
      for (int64_t reverse : {0, 1}) {
        TestTensor x(DType::I32, {extent(4, 1), extent(6, 2)});
        TestTensor y(DType::I32, x.dims());
        x.random(generator, -50, 50);
        TestCall call{
            "cumulative_sum", {&x}, {&y}, {dim, exclusive, reverse}, ""};
        ASSERT_TRUE(call.run().ok());
        auto want = [&](const Index &o) {
          double total = 0;
          for (Index i = o, n = {0}; n[0] < x.shape()[dim]; ++n[0]) {
            i[dim] = n[0];
            bool in = reverse ? n[0] > o[dim] : n[0] < o[dim];
            if (in || (n[0] == o[dim] && !exclusive))
              total += x.at(i);
          }
          return total;
        };
        expectLanes(y, want, 0);
      }
}

TEST(TopK, DescendingTiesToTheLowerIndexNanLast) {
  double nan = NAN;
  TestTensor x(DType::F32, {extent(1), extent(7, 2, 100)});
  std::vector<double> values = {3, nan, 5, -1, 5, 3, nan};
  x.fill([&](const Index &i) { return values[i[1]]; });
  TestTensor top(DType::F32, {extent(1), extent(9)});
  TestTensor at(DType::I32, {extent(1), extent(9)});
  TestCall call{"top_k", {&x}, {&top, &at}, {}, ""};
  ASSERT_TRUE(call.run().ok());
  std::vector<double> wantTop = {5,   5,   3,         3,        -1,
                                 nan, nan, -INFINITY, -INFINITY};
  std::vector<double> wantAt = {102, 104, 100,        105,       103,
                                101, 106, 2147483647, 2147483647};
  expectLanes(top, [&](const Index &i) { return wantTop[i[1]]; }, 0);
  expectLanes(at, [&](const Index &i) { return wantAt[i[1]]; }, 0);
}

TEST(TopK, PayloadAndManyRows) {
  std::mt19937 generator(2);
  TestTensor x(DType::F32, {extent(5, 1), extent(300, 2)});
  TestTensor payload(DType::I32, x.dims());
  x.fill([&](const Index &) { return generator() % 40; });
  payload.fill([](const Index &i) { return 1000 - i[1]; });
  TestTensor top(DType::F32, {extent(5, 1), extent(20)});
  TestTensor at(DType::I32, {extent(5, 1), extent(20)});
  TestCall call{"top_k", {&x, &payload}, {&top, &at}, {}, ""};
  ASSERT_TRUE(call.run().ok());
  for (int64_t r = 0; r < 5; ++r) {
    std::vector<std::pair<double, double>> all; // (-value, payload) ascending
    for (int64_t i = 0; i < 300; ++i)
      all.emplace_back(-x.at({r, i}), payload.at({r, i}));
    std::sort(all.begin(), all.end());
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(top.at({r, i}), -all[i].first);
      EXPECT_EQ(at.at({r, i}), all[i].second);
    }
  }
}

} // namespace

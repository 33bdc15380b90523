#include "runtime/kernels/VectorOps.h"
#include "runtime/base/DType.h"
#include "runtime/kernels/MapOp.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace tandem;

namespace {

std::vector<const VectorOps *> levels() {
  std::vector<const VectorOps *> found;
  for (VectorLevel level :
       {VectorLevel::Baseline, VectorLevel::Avx2, VectorLevel::Avx512})
    if (const VectorOps *ops = vectorOpsOf(level))
      found.push_back(ops);
  return found;
}

/// Floats over many orders of magnitude, both signs.
std::vector<float> manyFloats(float largest) {
  std::vector<float> values;
  for (float x = 1e-30f; x <= largest; x *= 1.0173f) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

/// The distance in units in the last place of `want`.
double ulps(float got, double want) {
  float rounded = static_cast<float>(want);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded)))
    return 0;
  int exponent;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

void expectUlps(int opcode, double bound, const std::vector<float> &values,
                const std::function<double(double)> &want,
                double smallest = 0) {
  for (const VectorOps *ops : levels()) {
    std::vector<float> got(values.size());
    ops->unary[opcode](got.data(), values.data(), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      double exact = want(values[i]);
      if (std::fabs(exact) < smallest * std::fabs(values[i]))
        continue;
      ASSERT_LE(ulps(got[i], exact), bound)
          << ops->name << ": opcode " << opcode << " of " << values[i] << " is "
          << got[i] << ", expected " << exact;
    }
  }
}

TEST(VectorOps, FunctionsAreAccurate) {
  std::vector<float> wide = manyFloats(3e38f), narrow = manyFloats(100);
  expectUlps(kMapExp, 3, narrow, [](double x) { return std::exp(x); });
  std::vector<float> positive;
  for (float x : wide)
    if (x > 0)
      positive.push_back(x);
  for (float x = 1e-44f; x < 1e-37f; x *= 1.7f)
    positive.push_back(x);
  expectUlps(kMapLog, 3, positive, [](double x) { return std::log(x); });
  expectUlps(kMapTanh, 3, wide, [](double x) { return std::tanh(x); });
  expectUlps(kMapErf, 4, wide, [](double x) { return std::erf(x); });
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  expectUlps(kMapSigmoid, 4, narrow, sigmoid, 1e-36);
  expectUlps(
      kMapSilu, 4, narrow, [&](double x) { return x * sigmoid(x); }, 1e-36);
  auto geluErf = [](double x) {
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  };
  expectUlps(kMapGeluErf, 48, narrow, geluErf, 1e-6);
  auto geluTanh = [&](double x) {
    return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  };
  expectUlps(kMapGeluTanh, 48, narrow, geluTanh, 1e-6);
}

TEST(VectorOps, SpecialValues) {
  float infinity = std::numeric_limits<float>::infinity(), nan = NAN;
  auto expect = [](int opcode, float x, float want) {
    for (const VectorOps *ops : levels()) {
      float got;
      ops->unary[opcode](&got, &x, 1);
      EXPECT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
          << ops->name << ": opcode " << opcode << " of " << x << " is " << got;
    }
  };
  expect(kMapExp, infinity, infinity);
  expect(kMapExp, -infinity, 0);
  expect(kMapExp, nan, nan);
  expect(kMapExp, 0, 1);
  expect(kMapLog, 0, -infinity);
  expect(kMapLog, infinity, infinity);
  expect(kMapLog, -1, nan);
  expect(kMapLog, nan, nan);
  expect(kMapLog, 1, 0);
  expect(kMapTanh, infinity, 1);
  expect(kMapTanh, -infinity, -1);
  expect(kMapErf, infinity, 1);
  expect(kMapErf, -infinity, -1);
  expect(kMapSigmoid, -infinity, 0);
  expect(kMapSigmoid, infinity, 1);
  expect(kMapRelu, nan, nan);
  expect(kMapRelu, -2, 0);
}

TEST(VectorOps, ConversionsAgreeWithTheScalarOnes) {
  std::vector<float> values = manyFloats(3e38f);
  for (float x : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 65519.0f, 65520.0f,
                  6e-8f, 2e-8f, 1.00390625f, 1.01171875f})
    values.push_back(x);
  size_t n = values.size();
  for (const VectorOps *ops : levels()) {
    std::vector<uint16_t> half(n), bfloat(n);
    ops->narrowF16(half.data(), values.data(), n);
    ops->narrowBF16(bfloat.data(), values.data(), n);
    std::vector<float> fromHalf(n), fromBfloat(n);
    ops->widenF16(fromHalf.data(), half.data(), n);
    ops->widenBF16(fromBfloat.data(), bfloat.data(), n);
    for (size_t i = 0; i < n; ++i) {
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(fromHalf[i]) && std::isnan(fromBfloat[i]));
        continue;
      }
      ASSERT_EQ(half[i], floatToHalf(values[i])) << ops->name << values[i];
      ASSERT_EQ(bfloat[i], floatToBfloat(values[i])) << ops->name << values[i];
      ASSERT_EQ(fromHalf[i], halfToFloat(half[i]));
      ASSERT_EQ(fromBfloat[i], bfloatToFloat(bfloat[i]));
    }
  }
}

TEST(VectorOps, RowsOfEveryLengthTouchTheirLanesOnly) {
  std::mt19937 generator(9);
  std::uniform_real_distribution<float> uniform(-2, 2);
  for (const VectorOps *ops : levels())
    for (int64_t n = 0; n < 70; ++n) {
      std::vector<float> in(n), out(n + 1, 99);
      for (float &x : in)
        x = uniform(generator);
      double sum = 0, squares = 0, largest = -INFINITY, mass = 0;
      for (float x : in) {
        sum += x;
        squares += double(x) * x;
        largest = std::max<double>(largest, x);
        mass += std::exp(double(x) - 1);
      }
      EXPECT_NEAR(ops->sum(in.data(), n), sum, 1e-4);
      EXPECT_NEAR(ops->sumSquares(in.data(), n), squares, 1e-4);
      EXPECT_EQ(ops->max(in.data(), n), static_cast<float>(largest));
      EXPECT_NEAR(ops->expSum(out.data(), in.data(), 1, n), mass, 1e-4);
      EXPECT_EQ(out[n], 99);
      ops->unary[kMapTanh](out.data(), in.data(), n);
      ops->scale(out.data(), in.data(), 3, n);
      EXPECT_EQ(out[n], 99);
      for (int64_t i = 0; i < n; ++i)
        EXPECT_EQ(out[i], in[i] * 3);
    }
}

TEST(VectorOps, AnglesOfFarPositions) {
  for (const VectorOps *ops : levels())
    for (double position : {0.0, 1.0, 777.0, 131072.0, 1e7, -5.0}) {
      std::vector<double> frequency;
      for (int i = 0; i < 13; ++i)
        frequency.push_back(std::pow(0.3, i));
      float c[13], s[13];
      ops->angles(c, s, frequency.data(), position, 1, 13);
      for (int i = 0; i < 13; ++i) {
        EXPECT_NEAR(c[i], std::cos(position * frequency[i]), 1e-7);
        EXPECT_NEAR(s[i], std::sin(position * frequency[i]), 1e-7);
      }
    }
}

TEST(VectorOps, ProductsOfAllShapes) {
  std::mt19937 generator(9);
  std::uniform_real_distribution<float> uniform(-1, 1);
  auto random = [&](size_t n) {
    std::vector<float> values(n);
    for (float &x : values)
      x = bfloatToFloat(floatToBfloat(uniform(generator)));
    return values;
  };
  for (const VectorOps *ops : levels())
    for (int rows = 1; rows <= kMaxProductRows; ++rows)
      for (int64_t columns : {1, 6, 19})
        for (int64_t depth : {1, 15, 50}) {
          std::vector<float> x = random(rows * depth);
          std::vector<float> w = random(columns * depth);
          std::vector<uint16_t> narrow(w.size());
          ops->narrowBF16(narrow.data(), w.data(), w.size());
          auto check = [&](const std::vector<float> &got, bool byColumn,
                           double start) {
            for (int r = 0; r < rows; ++r)
              for (int64_t c = 0; c < columns; ++c) {
                double want = start;
                for (int64_t k = 0; k < depth; ++k)
                  want += double(x[r * depth + k]) *
                          w[byColumn ? c * depth + k : k * columns + c];
                ASSERT_NEAR(got[r * columns + c], want, 1e-5);
              }
          };
          std::vector<float> out(rows * columns);
          ops->dotRows[kWeightF32](out.data(), columns, x.data(), depth,
                                   w.data(), depth, rows, columns, depth);
          check(out, true, 0);
          ops->dotRows[kWeightBF16](out.data(), columns, x.data(), depth,
                                    narrow.data(), depth, rows, columns, depth);
          check(out, true, 0);
          for (float &value : out)
            value = 2;
          ops->addRows[kWeightF32](out.data(), columns, x.data(), depth,
                                   w.data(), columns, rows, columns, depth);
          check(out, false, 2);
        }
}

std::vector<float> randomFloats(std::mt19937 &generator, int64_t n, float low,
                                float high) {
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(n);
  for (float &x : values)
    x = uniform(generator);
  return values;
}

TEST(VectorOps, NormGradientsOfEveryLength) {
  std::mt19937 generator(4);
  NormGradTerms<float> terms = {0.5f, 2.0f, 1.0f, 0.25f, 0.125f};
  for (const VectorOps *ops : levels())
    for (int64_t n = 0; n < 40; ++n) {
      auto dy = randomFloats(generator, n, -1, 1);
      auto x = randomFloats(generator, n, -1, 1);
      auto w = randomFloats(generator, n, -1, 1);
      std::vector<float> dx(n + 1, 99), dw(n + 1, 7), db(n + 1, 7);
      float sums[2] = {1, 2};
      ops->normGradSums(sums, dy.data(), x.data(), w.data(), terms, n);
      ops->normGrad(dx.data(), dw.data(), db.data(), dy.data(), x.data(),
                    w.data(), terms, n);
      double plain = 1, normal = 2;
      for (int64_t i = 0; i < n; ++i) {
        double g = dy[i] * (1.0 + w[i]), unit = (x[i] - 0.5) * 2;
        plain += g;
        normal += g * unit;
        EXPECT_NEAR(dx[i], 2 * (g - 0.25 - unit * 0.125), 1e-5);
        EXPECT_NEAR(dw[i], 7 + dy[i] * unit, 1e-5);
        EXPECT_NEAR(db[i], 7 + dy[i], 1e-5);
      }
      EXPECT_NEAR(sums[0], plain, 1e-5);
      EXPECT_NEAR(sums[1], normal, 1e-5);
      EXPECT_EQ(dx[n], 99);
      EXPECT_EQ(dw[n], 7);
      EXPECT_EQ(db[n], 7);
    }
}

TEST(VectorOps, OptimizersOfEveryLength) {
  std::mt19937 generator(4);
  AdamTerms<float> adam = {0.5f, 0.9f, 0.75f, 0.25f, 0.5f,
                           0.5f, 0.1f, 2.0f,  0.01f};
  SgdTerms<float> sgd = {0.5f, 0.25f, 0.75f, 0.1f};
  for (const VectorOps *ops : levels())
    for (int64_t n = 0; n < 40; ++n) {
      auto p = randomFloats(generator, n, -1, 1);
      auto m = randomFloats(generator, n, -1, 1);
      auto v = randomFloats(generator, n, 0, 1);
      auto g = randomFloats(generator, n, -1, 1);
      std::vector<float> out[3];
      for (auto &lanes : out)
        lanes.assign(n + 1, 99);
      float *to[3] = {out[0].data(), out[1].data(), out[2].data()};
      const float *from[4] = {p.data(), m.data(), v.data(), g.data()};
      ops->adamw(to, from, adam, n);
      for (int64_t i = 0; i < n; ++i) {
        double up = 0.5 * g[i], mean = 0.75 * m[i] + 0.25 * up;
        double square = 0.5 * v[i] + 0.5 * up * up;
        EXPECT_NEAR(out[0][i],
                    0.9 * p[i] - 0.1 * mean / (2 * std::sqrt(square) + 0.01),
                    1e-5);
        EXPECT_NEAR(out[1][i], mean, 1e-6);
        EXPECT_NEAR(out[2][i], square, 1e-6);
      }
      const float *three[3] = {p.data(), m.data(), g.data()};
      ops->sgd(to, three, sgd, n);
      for (int64_t i = 0; i < n; ++i) {
        double mean = 0.75 * m[i] + 0.5 * g[i] + 0.25 * p[i];
        EXPECT_NEAR(out[0][i], p[i] - 0.1 * mean, 1e-6);
        EXPECT_NEAR(out[1][i], mean, 1e-6);
      }
      for (auto &lanes : out)
        EXPECT_EQ(lanes[n], 99);
    }
}

/// The chains of one tile, both ways to pack, against float64; and the same
/// bits for a row alone.
TEST(VectorOps, ChainsOfAllShapes) {
  std::mt19937 generator(4);
  for (const VectorOps *ops : levels())
    for (int rows = 1; rows <= ops->chainRows; ++rows)
      for (int64_t columns : {1, ops->chainColumns - 1, ops->chainColumns})
        for (int64_t depth : {1, 16, 45}) {
          auto a = randomFloats(generator, rows * depth, -1, 1);
          auto b = randomFloats(generator, depth * columns, -1, 1);
          int64_t wide = ops->chainColumns;
          std::vector<float> turned(b.size()), panel(depth * wide, 9);
          std::vector<float> again(panel), sums(rows * wide, 2), one(wide, 2);
          for (int64_t k = 0; k < depth; ++k)
            for (int64_t j = 0; j < columns; ++j)
              turned[j * depth + k] = b[k * columns + j];
          ops->chainPack(panel.data(), 0, b.data(), columns, columns, depth);
          ops->chainPackTurned(again.data(), turned.data(), depth, columns,
                               depth);
          ASSERT_EQ(panel, again) << ops->name;
          ops->chain(sums.data(), wide, a.data(), depth, 1, panel.data(), depth,
                     true, rows);
          for (int r = 0; r < rows; ++r) {
            std::fill(one.begin(), one.end(), 2.0f);
            ops->chain(one.data(), wide, a.data() + r * depth, depth, 1,
                       panel.data(), depth, true, 1);
            for (int64_t j = 0; j < columns; ++j) {
              double want = 2;
              for (int64_t k = 0; k < depth; ++k)
                want += double(a[r * depth + k]) * b[k * columns + j];
              ASSERT_NEAR(sums[r * wide + j], want, 1e-5) << ops->name;
              ASSERT_EQ(sums[r * wide + j], one[j]) << ops->name;
            }
          }
        }
}

} // namespace

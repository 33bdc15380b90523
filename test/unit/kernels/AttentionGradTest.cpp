#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

constexpr double kScale = 0.3;

struct GradCase {
  std::string name;
  int64_t b = 2, s = 9, k = 2, g = 3, d = 16, e = 16, t = 9;
  std::vector<int64_t> positions = {0, 0};
  bool causal = true;
  int64_t window = 0;
  double softcap = 0;
  bool mask = false, slopes = false;
  DType type = DType::F32, cache = DType::F32;
  int64_t padding = 0; ///< Of every dimension but d and e.
  int64_t beginS = 0;
  double tolerance = 1e-5;
};

using Lanes = std::vector<double>;

/// Gradients of sum(attention * dout), by the chain rule on the definition of
/// attention in float64, with the whole row of probabilities at hand.
class AttentionGradients {
public:
  explicit AttentionGradients(const GradCase &c)
      : c(c), q(c.type, rows(c.d)), key(c.cache, lanes(c.d)),
        value(c.cache, lanes(c.e)),
        positions(DType::I32, {extent(c.b, c.padding)}), out(c.type, rows(c.e)),
        lse(sumType(), outer()), dout(c.type, rows(c.e)),
        mask(DType::I32, {extent(c.b, c.padding), extent(c.t, c.padding)}),
        slopes(DType::F32, {extent(c.k, c.padding), extent(c.g, c.padding)}),
        dq(c.type, rows(c.d)), dkey(c.cache, lanes(c.d)),
        dvalue(c.cache, lanes(c.e)) {
    std::mt19937 generator(11);
    q.random(generator, -2, 2);
    key.random(generator, -2, 2);
    value.random(generator, -2, 2);
    dout.random(generator, -1, 1);
    slopes.random(generator, 0.01, 0.3);
    mask.fill([&](const Index &) { return generator() % 3 != 0; });
    positions.fill([&](const Index &i) { return c.positions[i[0]]; });
    wantQ.resize(c.b * c.s * c.k * c.g * c.d);
    wantKey.resize(c.b * c.t * c.k * c.d);
    wantValue.resize(c.b * c.t * c.k * c.e);
  }

  TestCall call() {
    TestCall call{"attention_grad",
                  {&q, &key, &value, &positions, &out, &lse, &dout},
                  {&dq, &dkey, &dvalue},
                  {bitsOf(kScale), c.causal, c.window, bitsOf(c.softcap),
                   c.mask + 2 * c.slopes},
                  ""};
    if (c.mask)
      call.inputs.push_back(&mask);
    if (c.slopes)
      call.inputs.push_back(&slopes);
    return call;
  }

  void run() {
    forEachIndex({c.b, c.s, c.k, c.g}, [&](const Index &i) { reference(i); });
    Status status = call().run();
    ASSERT_TRUE(status.ok()) << status.message();
    expectLanes(
        dq,
        [&](const Index &i) {
          return wantQ[row({i[0], i[1], i[2], i[3]}) * c.d + i[4]];
        },
        c.tolerance);
    expectLanes(
        dkey,
        [&](const Index &i) { return wantKey[lane(i, i[1]) * c.d + i[3]]; },
        c.tolerance);
    expectLanes(
        dvalue,
        [&](const Index &i) { return wantValue[lane(i, i[1]) * c.e + i[3]]; },
        c.tolerance);
  }

private:
  DType sumType() const { return c.type == DType::F64 ? c.type : DType::F32; }
  std::vector<TensorDim> outer() const {
    return {extent(c.b, c.padding), extent(c.s, c.padding, c.beginS),
            extent(c.k, c.padding), extent(c.g, c.padding)};
  }
  std::vector<TensorDim> rows(int64_t width) const {
    std::vector<TensorDim> dims = outer();
    dims.push_back(extent(width));
    return dims;
  }
  std::vector<TensorDim> lanes(int64_t width) const {
    return {extent(c.b, c.padding), extent(c.t, c.padding),
            extent(c.k, c.padding), extent(width)};
  }
  size_t row(const Index &i) const {
    return ((i[0] * c.s + i[1]) * c.k + i[2]) * c.g + i[3];
  }
  /// Of lane j and the key head: i[2] of a query's and of a key's index.
  size_t lane(const Index &i, int64_t j) const {
    return (i[0] * c.t + j) * c.k + i[2];
  }

  static double dot(const TestTensor &a, Index atA, const TestTensor &b,
                    Index atB, int64_t n) {
    double sum = 0;
    atA.push_back(0);
    atB.push_back(0);
    for (; atA.back() < n; ++atA.back(), ++atB.back())
      sum += a.at(atA) * b.at(atB);
    return sum;
  }

  bool sees(const Index &i, int64_t j) const {
    int64_t p = c.positions[i[0]] + c.beginS + i[1];
    return (!c.causal || j <= p) && (c.window == 0 || j > p - c.window) &&
           (!c.mask || mask.at({i[0], j}) != 0);
  }

  /// Also stores out and lse, which the kernel is given.
  void reference(const Index &i) {
    int64_t p = c.positions[i[0]] + c.beginS + i[1];
    Lanes score(c.t), slope(c.t, 1), weight(c.t), along(c.t);
    double largest = -INFINITY, sum = 0, mean = 0;
    for (int64_t j = 0; j < c.t; ++j) {
      score[j] = kScale * dot(q, i, key, {i[0], j, i[2]}, c.d);
      if (c.softcap != 0) {
        score[j] = c.softcap * std::tanh(score[j] / c.softcap);
        slope[j] = 1 - std::pow(score[j] / c.softcap, 2);
      }
      if (c.slopes)
        score[j] += slopes.at({i[2], i[3]}) * (j - p);
      if (sees(i, j))
        largest = std::max(largest, score[j]);
    }
    for (int64_t j = 0; j < c.t; ++j) {
      weight[j] = sees(i, j) ? std::exp(score[j] - largest) : 0;
      sum += weight[j];
    }
    for (int64_t j = 0; j < c.t; ++j) {
      weight[j] = sum > 0 ? weight[j] / sum : 0;
      along[j] = dot(dout, i, value, {i[0], j, i[2]}, c.e);
      mean += weight[j] * along[j];
    }
    lse.set(i, sum > 0 ? largest + std::log(sum) : -INFINITY);
    for (int64_t l = 0; l < c.e; ++l) {
      double total = 0;
      for (int64_t j = 0; j < c.t; ++j)
        total += weight[j] * value.at({i[0], j, i[2], l});
      out.set({i[0], i[1], i[2], i[3], l}, total);
    }
    for (int64_t j = 0; j < c.t; ++j)
      addPair(i, j, weight[j],
              kScale * weight[j] * (along[j] - mean) * slope[j]);
  }

  void addPair(const Index &i, int64_t j, double weight, double slope) {
    for (int64_t l = 0; l < c.e; ++l)
      wantValue[lane(i, j) * c.e + l] +=
          weight * dout.at({i[0], i[1], i[2], i[3], l});
    for (int64_t l = 0; l < c.d; ++l) {
      wantKey[lane(i, j) * c.d + l] +=
          slope * q.at({i[0], i[1], i[2], i[3], l});
      wantQ[row(i) * c.d + l] += slope * key.at({i[0], j, i[2], l});
    }
  }

  GradCase c;
  TestTensor q, key, value, positions, out, lse, dout, mask, slopes;
  TestTensor dq, dkey, dvalue;
  Lanes wantQ, wantKey, wantValue;
};

void runCase(const GradCase &c) {
  SCOPED_TRACE(c.name);
  AttentionGradients(c).run();
}

TEST(AttentionGrad, Causal) {
  GradCase c;
  c.name = "small";
  runCase(c);
  c.name = "padded, odd sizes";
  c.padding = 2;
  c.d = 7;
  c.e = 13;
  runCase(c);
  c.name = "one head, many query blocks and key blocks";
  c.b = c.k = 1;
  c.s = c.t = 150;
  c.padding = 0;
  runCase(c);
  c.name = "the same with padding";
  c.padding = 3;
  runCase(c);
}

TEST(AttentionGrad, MoreKeysThanQueries) {
  GradCase c;
  c.name = "queries at the end";
  c.s = 30;
  c.t = 170;
  c.positions = {140, 100};
  runCase(c);
  c.name = "a part of the sequence";
  c.positions = {3, 40};
  c.beginS = 5;
  runCase(c);
  c.name = "one query";
  c.s = 1;
  runCase(c);
}

TEST(AttentionGrad, WholeAndWindowed) {
  GradCase c;
  c.s = 40;
  c.t = 140;
  c.name = "not causal";
  c.causal = false;
  runCase(c);
  c.name = "window";
  c.causal = true;
  c.window = 11;
  c.positions = {100, 20};
  runCase(c);
}

TEST(AttentionGrad, SoftcapMaskAndSlopes) {
  GradCase c;
  c.s = 40;
  c.t = 45;
  c.positions = {5, 0};
  c.padding = 1;
  c.name = "softcap";
  c.softcap = 1.5;
  runCase(c);
  c.name = "and mask";
  c.mask = true;
  runCase(c);
  c.name = "and slopes";
  c.slopes = true;
  runCase(c);
}

TEST(AttentionGrad, EveryType) {
  for (DType type : {DType::BF16, DType::F16})
    for (DType cache : {DType::F32, type}) {
      GradCase c;
      c.name = std::string(name(type)) + " with " + std::string(name(cache));
      c.type = type;
      c.cache = cache;
      c.padding = 1;
      c.tolerance = type == DType::BF16 ? 4e-2 : 5e-3;
      runCase(c);
    }
  GradCase c;
  c.type = c.cache = DType::F64;
  c.tolerance = 1e-12;
  c.padding = 1;
  c.softcap = 2;
  c.mask = c.slopes = true;
  c.window = 5;
  c.t = 14;
  c.positions = {5, 0};
  c.name = "f64";
  runCase(c);
}

TEST(AttentionGrad, AQueryThatSeesNothingGivesNothing) {
  for (DType type : {DType::F32, DType::F64}) {
    GradCase c;
    c.name = "nothing";
    c.type = c.cache = type;
    c.positions = {-100, -3};
    runCase(c);
  }
}

TEST(AttentionGrad, Refusals) {
  GradCase c;
  AttentionGradients tensors(c);
  TestCall call = tensors.call();
  ASSERT_TRUE(call.check().ok());
  TestTensor wrong(DType::F32, {extent(3)});
  TestTensor *dq = call.outputs[0];
  call.outputs[0] = &wrong;
  EXPECT_EQ(call.check().message(),
            "attention_grad: output 0 has 1 dimensions, expected 5");
  call.outputs[0] = dq;
  call.inputs[1] = &wrong;
  EXPECT_EQ(call.check().message(),
            "attention_grad: is of no attention: attention: input 1 has 1 "
            "dimensions, expected 4");
  call.inputs.pop_back();
  EXPECT_EQ(call.check().message(), "attention_grad: got 6 inputs, expected 7");
  call.numbers[4] = 8;
  EXPECT_EQ(call.check().message(),
            "attention_grad: flags are 8, expected 0 to 7");
}

} // namespace

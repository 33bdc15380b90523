#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

struct AttentionCase {
  std::string name;
  int64_t b = 2, s = 1, k = 2, g = 3, d = 16, e = 16, t = 40;
  std::vector<int64_t> positions = {0, 0};
  bool causal = true;
  int64_t window = 0;
  double softcap = 0;
  bool mask = false, slopes = false;
  DType cache = DType::F32, query = DType::F32;
  int64_t padding = 0; ///< Of every dimension but d and e.
  int64_t beginS = 0;
  double tolerance = 2e-6;
};

class AttentionTensors {
public:
  explicit AttentionTensors(const AttentionCase &c)
      : c(c), q(c.query, dims(c.s, c.beginS, c.d)),
        key(c.cache, cacheDims(c.d)), value(c.cache, cacheDims(c.e)),
        positions(DType::I32, {extent(c.b, c.padding)}),
        mask(DType::I32, {extent(c.b, c.padding), extent(c.t, c.padding)}),
        slopes(DType::F32, {extent(c.k, c.padding), extent(c.g, c.padding)}),
        out(c.query, dims(c.s, c.beginS, c.e)),
        lse(DType::F32, {extent(c.b, c.padding), extent(c.s, c.padding),
                         extent(c.k, c.padding), extent(c.g, c.padding)}) {
    std::mt19937 generator(11);
    q.random(generator, -2, 2);
    key.random(generator, -2, 2);
    value.random(generator, -2, 2);
    slopes.random(generator, 0.01, 0.3);
    mask.fill([&](const Index &) { return generator() % 3 != 0; });
    positions.fill([&](const Index &i) { return c.positions[i[0]]; });
    queries = lanesOf(q);
    keys = lanesOf(key);
    values = lanesOf(value);
  }

  void run() {
    TestCall call{"attention",
                  {&q, &key, &value, &positions},
                  {&out, &lse},
                  {bitsOf(0.3), c.causal, c.window, bitsOf(c.softcap),
                   c.mask + 2 * c.slopes},
                  ""};
    if (c.mask)
      call.inputs.push_back(&mask);
    if (c.slopes)
      call.inputs.push_back(&slopes);
    Status status = call.run();
    ASSERT_TRUE(status.ok()) << status.message();
    forEachIndex({c.b, c.s, c.k, c.g}, [&](const Index &i) { reference(i); });
    expectLanes(
        out, [&](const Index &i) { return wanted[flat(i)]; }, c.tolerance);
    expectLanes(
        lse, [&](const Index &i) { return wantedLse[flatRow(i)]; },
        c.tolerance);
  }

private:
  std::vector<TensorDim> dims(int64_t tokens, int64_t begin, int64_t lanes) {
    return {extent(c.b, c.padding), extent(tokens, c.padding, begin),
            extent(c.k, c.padding), extent(c.g, c.padding), extent(lanes)};
  }
  std::vector<TensorDim> cacheDims(int64_t lanes) {
    return {extent(c.b, c.padding), extent(c.t, c.padding),
            extent(c.k, c.padding), extent(lanes)};
  }
  /// The valid lanes in row-major order: quicker to read than the tensor.
  static std::vector<double> lanesOf(const TestTensor &tensor) {
    std::vector<double> lanes;
    forEachIndex(tensor.shape(), [&](const Index &index) {
      lanes.push_back(tensor.at(index));
    });
    return lanes;
  }
  size_t flatRow(const Index &i) const {
    return ((i[0] * c.s + i[1]) * c.k + i[2]) * c.g + i[3];
  }
  size_t flatKey(const Index &i, int64_t j) const {
    return (i[0] * c.t + j) * c.k + i[2];
  }
  size_t flat(const Index &i) const { return flatRow(i) * c.e + i[4]; }

  /// The formula of the contract in float64, straight.
  void reference(const Index &i) {
    int64_t p = c.positions[i[0]] + c.beginS + i[1];
    std::vector<double> scores(c.t);
    std::vector<bool> seen(c.t);
    double sum = 0, largest = -INFINITY;
    for (int64_t j = 0; j < c.t; ++j) {
      seen[j] = (!c.causal || j <= p) && (c.window == 0 || j > p - c.window) &&
                (!c.mask || mask.at({i[0], j}) != 0);
      double score = 0;
      for (int64_t l = 0; l < c.d; ++l)
        score += queries[flatRow(i) * c.d + l] * keys[flatKey(i, j) * c.d + l];
      score *= 0.3;
      if (c.softcap != 0)
        score = c.softcap * std::tanh(score / c.softcap);
      if (c.slopes)
        score += slopes.at({i[2], i[3]}) * (j - p);
      scores[j] = score;
      if (seen[j])
        largest = std::max(largest, score);
    }
    for (int64_t j = 0; j < c.t; ++j)
      sum += seen[j] ? std::exp(scores[j] - largest) : 0;
    for (int64_t l = 0; l < c.e; ++l) {
      double total = 0;
      for (int64_t j = 0; j < c.t; ++j)
        if (seen[j])
          total += std::exp(scores[j] - largest) / sum *
                   values[flatKey(i, j) * c.e + l];
      wanted.push_back(total);
    }
    wantedLse.push_back(sum > 0 ? largest + std::log(sum) : -INFINITY);
  }

  AttentionCase c;
  TestTensor q, key, value, positions, mask, slopes, out, lse;
  std::vector<double> queries, keys, values, wanted, wantedLse;
};

void runCase(const AttentionCase &c) {
  SCOPED_TRACE(c.name);
  AttentionTensors(c).run();
}

AttentionCase decode(const std::string &name) {
  AttentionCase c;
  c.name = name;
  c.t = 300; // three chunks of keys
  c.positions = {290, 17};
  return c;
}

AttentionCase prefill(const std::string &name) {
  AttentionCase c;
  c.name = name;
  c.s = 45; // several query blocks
  c.t = 150;
  c.positions = {100, 3};
  return c;
}

TEST(Attention, Decode) {
  runCase(decode("plain"));
  AttentionCase c = decode("padded");
  c.padding = 1;
  runCase(c);
  c = decode("window");
  c.window = 40;
  runCase(c);
  c = decode("many groups and tokens");
  c.g = 5;
  c.s = 3;
  c.e = 9;
  runCase(c);
  c = decode("odd sizes");
  c.d = 7;
  c.e = 13;
  runCase(c);
}

TEST(Attention, Prefill) {
  runCase(prefill("plain"));
  AttentionCase c = prefill("padded, shifted");
  c.padding = 2;
  c.beginS = 2;
  c.e = 24;
  runCase(c);
  c = prefill("window");
  c.window = 20;
  runCase(c);
  c = prefill("not causal");
  c.causal = false;
  runCase(c);
  c = prefill("beyond the cache");
  c.positions = {140, 0};
  runCase(c);
}

TEST(Attention, SoftcapMaskAndSlopes) {
  for (AttentionCase c : {decode("decode"), prefill("prefill")}) {
    c.softcap = 1.5;
    runCase(c);
    c.mask = true;
    runCase(c);
    c.slopes = true;
    runCase(c);
  }
}

TEST(Attention, NarrowCaches) {
  for (DType type : {DType::BF16, DType::F16})
    for (AttentionCase c : {decode("decode"), prefill("prefill")}) {
      c.cache = type;
      runCase(c);
    }
}

TEST(Attention, DoublesAreExact) {
  for (AttentionCase c : {decode("decode"), prefill("prefill")}) {
    c.query = c.cache = DType::F64;
    c.t = 60;
    c.positions = {50, 3};
    c.s = std::min<int64_t>(c.s, 5);
    runCase(c);
  }
}

TEST(Attention, AQueryThatSeesNothingIsZero) {
  for (int64_t s : {1, 30}) {
    AttentionCase c;
    c.name = "nothing";
    c.s = s;
    c.positions = {-100, -3};
    runCase(c);
  }
}

} // namespace

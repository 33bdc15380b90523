#include "TestTensor.h"

#include "runtime/kernels/Philox.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace tandem;

namespace {

// Known answers published with Random123.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

/// Draws for rows of equal logits and settings, positions 0, 1, 2 ...
class Sampler {
public:
  Sampler(std::vector<double> logits, int64_t rows, int64_t firstRow = 0)
      : rows(rows), logits(DType::F32, {extent(rows, 1, firstRow),
                                        extent(logits.size(), 3)}),
        temperature(DType::F32, {extent(rows, 1)}),
        topK(DType::I32, {extent(rows, 1)}),
        topP(DType::F32, {extent(rows, 1)}),
        seed(DType::I64, {extent(rows, 1)}),
        positions(DType::I32, {extent(rows, 1)}),
        ids(DType::I32, {extent(rows, 1)}) {
    this->logits.fill([&](const Index &i) { return logits[i[1]]; });
  }

  std::vector<int64_t> draw(double t, int64_t k, double p, int64_t s) {
    temperature.fill([&](const Index &) { return t; });
    topK.fill([&](const Index &) { return k; });
    topP.fill([&](const Index &) { return p; });
    seed.fill([&](const Index &) { return s; });
    positions.fill([&](const Index &i) { return i[0]; });
    TestCall call{"sample",
                  {&logits, &temperature, &topK, &topP, &seed, &positions},
                  {&ids},
                  {},
                  ""};
    Status status = call.run();
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<int64_t> result;
    for (int64_t r = 0; r < rows; ++r)
      result.push_back(ids.at({r}));
    return result;
  }

  /// Shares of each id among the draws.
  std::map<int64_t, double> shares(double t, int64_t k, double p) {
    std::map<int64_t, double> shares;
    for (int64_t id : draw(t, k, p, 1))
      shares[id] += 1.0 / rows;
    return shares;
  }

private:
  int64_t rows;
  TestTensor logits, temperature, topK, topP, seed, positions, ids;
};

const std::vector<double> kLogits = {0.5, 2, -1, 2, 1, NAN, -3};

std::map<int64_t, double> softmaxOf(const std::vector<int64_t> &ids,
                                    double temperature) {
  std::map<int64_t, double> result;
  double sum = 0;
  for (int64_t id : ids)
    sum += result[id] = std::exp(kLogits[id] / temperature);
  for (auto &entry : result)
    entry.second /= sum;
  return result;
}

void expectShares(const std::map<int64_t, double> &got,
                  const std::map<int64_t, double> &want) {
  for (const auto &[id, share] : got) {
    ASSERT_TRUE(want.count(id)) << "id " << id << " may not be drawn";
    // Six standard deviations of 20000 draws.
    EXPECT_NEAR(share, want.at(id), 0.021) << "id " << id;
  }
  EXPECT_EQ(got.size(), want.size());
}

TEST(Sample, GreedyTakesTheLowestOfTheLargest) {
  Sampler sampler(kLogits, 3);
  EXPECT_EQ(sampler.draw(0, 5, 0.9, 1), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(sampler.draw(-1, 0, 1, 1), (std::vector<int64_t>{1, 1, 1}));
}

TEST(Sample, DistributionFollowsTheSettings) {
  Sampler sampler(kLogits, 20000);
  expectShares(sampler.shares(1, 0, 1), softmaxOf({0, 1, 2, 3, 4, 6}, 1));
  expectShares(sampler.shares(2, 0, 1), softmaxOf({0, 1, 2, 3, 4, 6}, 2));
  expectShares(sampler.shares(1, 3, 1), softmaxOf({1, 3, 4}, 1));
  expectShares(sampler.shares(1, 1, 1), {{1, 1.0}});
  // Shares are 0.364, 0.364, 0.134, 0.081 ...: 0.5 needs two, 0.8 three.
  expectShares(sampler.shares(1, 0, 0.5), softmaxOf({1, 3}, 1));
  expectShares(sampler.shares(1, 0, 0.8), softmaxOf({1, 3, 4}, 1));
  expectShares(sampler.shares(1, 2, 0.4), {{1, 1.0}});
  expectShares(sampler.shares(1, 0, 0), {{1, 1.0}});
}

TEST(Sample, ARowsDrawDependsOnSeedRowAndPositionOnly) {
  std::vector<double> logits(500);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = std::sin(i * 0.7);
  std::vector<int64_t> all = Sampler(logits, 8).draw(1, 0, 1, 42);
  EXPECT_EQ(Sampler(logits, 8).draw(1, 0, 1, 42), all);
  EXPECT_NE(Sampler(logits, 8).draw(1, 0, 1, 43), all);
  EXPECT_NE(Sampler(logits, 8).draw(1, 0, 1, int64_t(42) | int64_t(1) << 40),
            all);
  // A batch that begins at row 3 draws other numbers than row 0.
  EXPECT_NE(Sampler(logits, 5, 3).draw(1, 0, 1, 42),
            std::vector<int64_t>(all.begin(), all.begin() + 5));
}

TEST(Sample, InfinityTakesAll) {
  Sampler sampler({1, INFINITY, 2, -INFINITY}, 4);
  EXPECT_EQ(sampler.draw(1, 0, 1, 1), (std::vector<int64_t>{1, 1, 1, 1}));
}

} // namespace

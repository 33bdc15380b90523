#include "TestTensor.h"

#include <gtest/gtest.h>

using namespace tandem;

namespace {

constexpr int64_t kRows = 2, kTokens = 150, kGroup = 2;

/// Rows and key heads that a rank has.
struct Part {
  int64_t row, rows, head, heads;
};

/// Attention and its gradient of some rows and key heads out of all; `heads`
/// and `size` give the distance of neighbouring keys in memory.
class Attentions {
public:
  Attentions(int64_t heads, int64_t size)
      : heads(heads), size(size), all{0, kRows, 0, heads}, q(queries(all)),
        key(keys(all)), value(keys(all)), dout(queries(all)) {
    std::mt19937 generator(7);
    for (TestTensor *tensor : {&q, &key, &value, &dout})
      tensor->random(generator, -1, 1);
  }

  struct Results {
    TestTensor out, dq, dkey, dvalue;
  };

  Results run(const Part &part) {
    TestTensor myQ = cut(q, queries(part), part);
    TestTensor myKey = cut(key, keys(part), part);
    TestTensor myValue = cut(value, keys(part), part);
    TestTensor myDout = cut(dout, queries(part), part);
    TestTensor positions(DType::I32, {extent(part.rows)});
    positions.fill([](const Index &) { return 0; });
    Results results{queries(part), queries(part), keys(part), keys(part)};
    TestTensor lse(DType::F32, {extent(part.rows), extent(kTokens),
                                extent(part.heads), extent(kGroup)});
    std::vector<int64_t> numbers = {bitsOf(0.2), 1, 0, bitsOf(0), 0};
    TestCall forward{"attention",
                     {&myQ, &myKey, &myValue, &positions},
                     {&results.out, &lse},
                     numbers,
                     ""};
    Status status = forward.run();
    EXPECT_TRUE(status.ok()) << status.message();
    numbers.back() = 4;
    TestCall gradient{
        "attention_grad",
        {&myQ, &myKey, &myValue, &positions, &results.out, &lse, &myDout},
        {&results.dq, &results.dkey, &results.dvalue},
        numbers,
        ""};
    status = gradient.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return results;
  }

  void expectSameBits(const Results &whole, const Results &some,
                      const Part &part) {
    auto expect = [&](const TestTensor &a, const TestTensor &b) {
      int64_t different = 0;
      forEachIndex(b.shape(), [&](const Index &i) {
        different += a.bits(inWhole(i, part)) != b.bits(i);
      });
      EXPECT_EQ(different, 0) << part.heads << " of " << heads << " heads";
    };
    expect(whole.out, some.out);
    expect(whole.dq, some.dq);
    expect(whole.dkey, some.dkey);
    expect(whole.dvalue, some.dvalue);
  }

  const int64_t heads, size;
  const Part all;

private:
  TestTensor queries(const Part &part) const {
    return {DType::F32,
            {extent(part.rows), extent(kTokens), extent(part.heads),
             extent(kGroup), extent(size)}};
  }
  TestTensor keys(const Part &part) const {
    return {
        DType::F32,
        {extent(part.rows), extent(kTokens), extent(part.heads), extent(size)}};
  }

  static Index inWhole(Index i, const Part &part) {
    i[0] += part.row;
    i[2] += part.head;
    return i;
  }
  static TestTensor cut(const TestTensor &whole, TestTensor part,
                        const Part &which) {
    part.fill([&](const Index &i) { return whole.at(inWhole(i, which)); });
    return part;
  }

  TestTensor q, key, value, dout;
};

/// Which rows and heads a rank has changes no bit of any of them, though keys
/// lie closer together where there are fewer heads.
TEST(Attention, HeadsAndRowsKnowNothingOfOthers) {
  for (auto [heads, size] : {std::pair<int64_t, int64_t>{3, 20}, {16, 64}}) {
    Attentions attentions(heads, size);
    auto whole = attentions.run(attentions.all);
    for (const Part &part : {Part{0, 1, 0, heads}, Part{1, 1, 0, heads / 2},
                             Part{0, kRows, heads / 2, 1}})
      attentions.expectSameBits(whole, attentions.run(part), part);
  }
}

} // namespace

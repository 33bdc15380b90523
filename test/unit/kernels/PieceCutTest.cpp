#include "TestTensor.h"

#include "runtime/kernels/PieceCut.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

constexpr int64_t kPieces = 4;

/// The rows of a global batch that a rank of `ranks` holds.
TensorDim batchOf(int64_t global, int64_t rank, int64_t ranks) {
  int64_t piece = (global + kPieces - 1) / kPieces;
  int64_t capacity = ranks == 1 ? global : kPieces / ranks * piece;
  int64_t begin = std::min(rank * capacity, global);
  int64_t valid = std::min(capacity, global - begin);
  return {capacity, valid, begin, global};
}

/// A tensor of which a rank has the rows of `batch`.
TestTensor partOf(TestTensor &whole, const TensorDim &batch, DType type) {
  std::vector<TensorDim> dims = whole.dims();
  dims[0] = batch;
  TestTensor part(type, dims);
  return part.fill([&](Index i) {
    i[0] += batch.begin;
    return whole.at(i);
  });
}

/// Expects that what ranks have of a sum, added in a binary tree, has the bits
/// of the sum on one rank.
void expectSameSum(
    int64_t global,
    const std::function<std::vector<float>(const TensorDim &)> &sumOf) {
  std::vector<float> want = sumOf(batchOf(global, 0, 1));
  for (int64_t ranks : {2, 4}) {
    std::vector<std::vector<float>> sums;
    for (int64_t rank = 0; rank < ranks; ++rank)
      sums.push_back(sumOf(batchOf(global, rank, ranks)));
    for (int64_t step = 1; step < ranks; step *= 2)
      for (int64_t r = 0; r + step < ranks; r += 2 * step)
        for (size_t i = 0; i < want.size(); ++i)
          sums[r][i] += sums[r + step][i];
    EXPECT_EQ(sums[0], want) << global << " rows on " << ranks;
  }
}

std::vector<float> lanesOf(const TestTensor &tensor) {
  std::vector<float> lanes;
  forEachIndex(tensor.shape(), [&](const Index &i) {
    lanes.push_back(static_cast<float>(tensor.at(i)));
  });
  return lanes;
}

TestTensor random(std::vector<TensorDim> dims, int seed) {
  std::mt19937 generator(seed);
  return TestTensor(DType::F32, std::move(dims)).random(generator, -1, 1);
}

TEST(PieceCut, HoldsAlignedPowersOfTwoOfPieces) {
  auto fits = [](int64_t capacity, int64_t begin, int64_t global) {
    int64_t valid = std::clamp<int64_t>(global - begin, 0, capacity);
    return PieceCut({capacity, valid, begin, global}, 4).fits();
  };
  EXPECT_TRUE(fits(97, 0, 97));
  EXPECT_TRUE(fits(50, 0, 97));
  EXPECT_TRUE(fits(50, 50, 97));
  EXPECT_TRUE(fits(25, 75, 97));
  EXPECT_FALSE(fits(49, 0, 97)); // ends within a piece of 25
  EXPECT_FALSE(fits(75, 0, 97)); // three pieces
  PieceCut cut({50, 47, 50, 97}, 4);
  EXPECT_EQ(cut.count(), 2);
  EXPECT_EQ(cut.first(1), 25);
  EXPECT_EQ(cut.lanes(0), 25);
  EXPECT_EQ(cut.lanes(1), 22);
}

TEST(PieceCut, SumsOfRows) {
  for (int64_t global : {8, 7, 3}) {
    TestTensor whole = random({extent(global), extent(5), extent(33)}, 1);
    expectSameSum(global, [&](const TensorDim &batch) {
      TestTensor x = partOf(whole, batch, DType::F32);
      TestTensor out(DType::F32, {extent(33)});
      TestCall call{"reduce", {&x}, {&out}, {0, kPieces, 3}, "bsd->d"};
      Status status = call.run();
      EXPECT_TRUE(status.ok()) << status.message();
      return lanesOf(out);
    });
    // The innermost dimension stays on one rank.
    expectSameSum(global, [&](const TensorDim &batch) {
      TestTensor x = partOf(whole, batch, DType::F32);
      TestTensor out(DType::F32, {extent(5)});
      TestCall call{"reduce", {&x}, {&out}, {0, kPieces, 5}, "bsd->s"};
      EXPECT_TRUE(call.run().ok());
      return lanesOf(out);
    });
  }
}

TEST(PieceCut, ReducesAsWithoutPieces) {
  TestTensor x = random({extent(9, 1), extent(21, 2)}, 3);
  for (int64_t kind : {0, 1, 2}) {
    TestTensor cut(DType::F32, {extent(9, 1)}), plain(DType::F32, cut.dims());
    TestCall call{"reduce", {&x}, {&cut}, {kind, 8, 2}, "ab->a"};
    ASSERT_TRUE(call.run().ok());
    TestCall whole{"reduce", {&x}, {&plain}, {kind}, "ab->a"};
    ASSERT_TRUE(whole.run().ok());
    expectLanes(cut, [&](const Index &i) { return plain.at(i); }, 1e-6);
  }
}

TEST(PieceCut, GradientsOfNorms) {
  for (bool centred : {false, true})
    for (int64_t global : {8, 7}) {
      TestTensor wholeX = random({extent(global), extent(5), extent(33)}, 1);
      TestTensor wholeY = random(wholeX.dims(), 2);
      TestTensor w = random({extent(33)}, 3);
      expectSameSum(global, [&](const TensorDim &batch) {
        TestTensor x = partOf(wholeX, batch, DType::F32);
        TestTensor dy = partOf(wholeY, batch, DType::F32);
        TestTensor dx(DType::F32, x.dims()), dw(DType::F32, {extent(33)});
        TestCall call{centred ? "layer_norm_grad" : "rms_norm_grad",
                      {&x, &w, &dy},
                      {&dx, &dw},
                      {bitsOf(1e-5)},
                      ""};
        if (!centred)
          call.numbers.push_back(bitsOf(0));
        call.numbers.insert(call.numbers.end(), {kPieces, 1});
        Status status = call.run();
        EXPECT_TRUE(status.ok()) << status.message();
        return lanesOf(dw);
      });
    }
}

TEST(PieceCut, GradientsOfEmbeddings) {
  for (int64_t global : {8, 7}) {
    TestTensor wholeY = random({extent(global), extent(11), extent(70, 2)}, 2);
    TestTensor wholeIds(DType::I32, {extent(global), extent(11)});
    std::mt19937 generator(1);
    wholeIds.fill([&](const Index &) { return generator() % 6; });
    auto gradient = [&](const TensorDim &batch, std::vector<int64_t> numbers) {
      TestTensor ids = partOf(wholeIds, batch, DType::I32);
      TestTensor dy = partOf(wholeY, batch, DType::F32);
      TestTensor out(DType::F32, {extent(6), extent(70, 2)});
      TestCall call{"embedding_grad", {&ids, &dy}, {&out}, numbers, ""};
      Status status = call.run();
      EXPECT_TRUE(status.ok()) << status.message();
      return lanesOf(out);
    };
    expectSameSum(global, [&](const TensorDim &batch) {
      return gradient(batch, {kPieces, 3});
    });
    std::vector<float> trees = gradient(batchOf(global, 0, 1), {kPieces, 3});
    std::vector<float> chain = gradient(batchOf(global, 0, 1), {});
    for (size_t i = 0; i < trees.size(); ++i)
      EXPECT_NEAR(trees[i], chain[i], 1e-5);
  }
}

TEST(PieceCut, Refusals) {
  TestTensor x(DType::F32, {extent(3, 0, 0, 12), extent(4)});
  TestTensor sums(DType::F32, {extent(4)}), w(DType::F32, {extent(4)});
  TestCall reduce{"reduce", {&x}, {&sums}, {0, kPieces, 0}, "ab->b"};
  EXPECT_EQ(reduce.check().message(),
            "reduce: dimension 0 is summed over and split, but not cut into "
            "pieces");
  reduce.numbers = {0, kPieces, 3};
  EXPECT_EQ(reduce.check().message(),
            "reduce: dimension 1 is cut into pieces but not summed over");
  reduce.numbers = {0, kPieces};
  EXPECT_EQ(reduce.check().message(), "reduce: got 2 numbers, expected 3");
  TestTensor many(DType::F32, {extent(64), extent(64), extent(64)});
  TestTensor one(DType::F32, {});
  TestCall deep{"reduce", {&many}, {&one}, {0, 64, 7}, "abc->"};
  EXPECT_EQ(deep.check().message(),
            "reduce: sums are cut into more than 4096 parts");
  TestTensor dx(DType::F32, x.dims());
  TestCall norm{"rms_norm_grad",
                {&x, &w, &x},
                {&dx, &sums},
                {bitsOf(0), bitsOf(0), kPieces, 0},
                ""};
  EXPECT_EQ(norm.check().message(),
            "rms_norm_grad: dimension 0 is summed over and split, but not cut "
            "into pieces");
  norm.numbers.pop_back();
  EXPECT_EQ(norm.check().message(), "rms_norm_grad: got 3 numbers, expected 4");
}

} // namespace

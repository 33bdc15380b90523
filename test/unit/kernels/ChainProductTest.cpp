#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

constexpr int64_t kPieces = 4;

/// The global product that ranks have parts of; f32 and random.
struct Whole {
  Whole(int64_t rows, int64_t columns, int64_t depth)
      : rows(rows), columns(columns), depth(depth),
        x(DType::F32, {extent(rows), extent(depth)}),
        w(DType::F32, {extent(depth), extent(columns)}) {
    std::mt19937 generator(17);
    x.random(generator, -1, 1);
    w.random(generator, -1, 1);
  }
  double want(int64_t r, int64_t c) const {
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += x.at({r, k}) * w.at({k, c});
    return sum;
  }
  int64_t rows, columns, depth;
  TestTensor x, w;
};

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// What one rank computes: lanes of rows, columns and depth, with padding,
/// stored as `equation` has its operands ("mk,kn->mn" and turned ones).
struct Part {
  Range rows, columns, depth;
  int64_t capacity; ///< Of the depth.
  std::string equation = "mk,kn->mn";
  int64_t padding = 0;
};

TensorDim dimOf(const Whole &whole, const Part &part, char letter) {
  if (letter == 'm')
    return extent(part.rows.size(), part.padding, part.rows.begin, whole.rows);
  if (letter == 'n')
    return extent(part.columns.size(), part.padding, part.columns.begin,
                  whole.columns);
  return extent(part.depth.size(), part.capacity - part.depth.size(),
                part.depth.begin, whole.depth);
}

TestTensor partOf(const Whole &whole, const Part &part,
                  const std::string &letters) {
  std::vector<TensorDim> dims;
  for (char letter : letters)
    dims.push_back(dimOf(whole, part, letter));
  TestTensor tensor(DType::F32, dims);
  bool left = letters.find('m') != std::string::npos;
  bool right = letters.find('n') != std::string::npos;
  if (left && right)
    return tensor;
  return tensor.fill([&](const Index &i) {
    bool turned = letters == "km" || letters == "nk";
    int64_t outer = i[turned], inner = i[!turned];
    return left
               ? whole.x.at({part.rows.begin + outer, part.depth.begin + inner})
               : whole.w.at(
                     {part.depth.begin + outer, part.columns.begin + inner});
  });
}

/// The rank's result by global row and column; its rule's factors are the
/// letters in the order of the equation.
std::vector<std::vector<double>> run(const Whole &whole, const Part &part) {
  size_t comma = part.equation.find(','), arrow = part.equation.find("->");
  std::string a = part.equation.substr(0, comma);
  std::string b = part.equation.substr(comma + 1, arrow - comma - 1);
  std::string c = part.equation.substr(arrow + 2);
  TestTensor left = partOf(whole, part, a), right = partOf(whole, part, b);
  TestTensor out = partOf(whole, part, c);
  int64_t factor = static_cast<int64_t>(a.find('k'));
  TestCall call{
      "einsum", {&left, &right}, {&out}, {kPieces, 1 << factor}, part.equation};
  Status status = call.run();
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::vector<double>> result(
      whole.rows, std::vector<double>(whole.columns, NAN));
  forEachIndex(out.shape(), [&](const Index &i) {
    int64_t r = c == "mn" ? i[0] : i[1], n = c == "mn" ? i[1] : i[0];
    result[part.rows.begin + r][part.columns.begin + n] = out.at(i);
  });
  return result;
}

Part wholePart(const Whole &whole) {
  return {{0, whole.rows}, {0, whole.columns}, {0, whole.depth}, whole.depth};
}

TEST(ChainProduct, IsTheProduct) {
  for (auto [rows, columns, depth] : {std::array<int64_t, 3>{1, 1, 5},
                                      {1, 70, 33},
                                      {37, 3, 700},
                                      {300, 50, 40},
                                      {23, 800, 9},
                                      {8, 8, 0}}) {
    Whole whole(rows, columns, depth);
    auto got = run(whole, wholePart(whole));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        ASSERT_NEAR(got[r][c], whole.want(r, c), 3e-6 * (depth + 1));
  }
}

/// Rows, columns, storage and padding of a rank change no bit.
TEST(ChainProduct, ARowsBitsKnowNothingOfOthers) {
  Whole whole(29, 45, 100);
  auto want = run(whole, wholePart(whole));
  for (Range rows : {Range{0, 1}, Range{3, 10}, Range{10, 29}, Range{0, 29}})
    for (Range columns : {Range{0, 45}, Range{17, 18}, Range{20, 43}})
      for (const char *equation :
           {"mk,kn->mn", "km,kn->mn", "mk,nk->mn", "km,nk->nm", "mk,kn->nm"}) {
        Part part = {rows, columns, {0, 100}, 100, equation, 2};
        auto got = run(whole, part);
        for (int64_t r = rows.begin; r < rows.end; ++r)
          for (int64_t c = columns.begin; c < columns.end; ++c)
            ASSERT_EQ(got[r][c], want[r][c]) << equation;
      }
}

/// Ranks that hold pieces of the depth, added in a binary tree.
TEST(ChainProduct, SplitDepthGivesTheSameBits) {
  for (int64_t depth : {100, 97, 7, 3}) {
    Whole whole(9, 21, depth);
    auto want = run(whole, wholePart(whole));
    int64_t piece = (depth + kPieces - 1) / kPieces;
    for (int64_t ranks : {2, 4}) {
      int64_t capacity = kPieces / ranks * piece;
      std::vector<std::vector<std::vector<double>>> parts;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        Part part = wholePart(whole);
        int64_t begin = std::min(rank * capacity, depth);
        part.depth = {begin, std::min(begin + capacity, depth)};
        part.capacity = capacity;
        parts.push_back(run(whole, part));
      }
      for (int64_t r = 0; r < whole.rows; ++r)
        for (int64_t c = 0; c < whole.columns; ++c) {
          std::vector<float> sums;
          for (auto &part : parts)
            sums.push_back(static_cast<float>(part[r][c]));
          for (size_t step = 1; step < sums.size(); step *= 2)
            for (size_t i = 0; i + step < sums.size(); i += 2 * step)
              sums[i] += sums[i + step];
          ASSERT_EQ(sums[0], want[r][c]) << depth << " on " << ranks;
        }
    }
  }
}

/// One number of everything, and its parts.
TEST(ChainProduct, SumsOfSquaresInPieces) {
  std::mt19937 generator(2);
  TestTensor x(DType::F32, {extent(40), extent(1100)});
  x.random(generator, -1, 1);
  auto sum = [&](int64_t begin, int64_t size, int64_t padding) {
    TestTensor part(DType::F32,
                    {extent(size, 0, begin, 40), extent(1100, padding)});
    part.fill([&](const Index &i) { return x.at({begin + i[0], i[1]}); });
    TestTensor out(DType::F32, {});
    TestCall call{"einsum", {&part, &part}, {&out}, {kPieces, 3}, "ij,ij->"};
    Status status = call.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return static_cast<float>(out.at({}));
  };
  double want = 0;
  forEachIndex(x.shape(), [&](const Index &i) { want += x.at(i) * x.at(i); });
  EXPECT_NEAR(sum(0, 40, 0), want, 1e-6 * want);
  EXPECT_EQ(sum(0, 40, 3), sum(0, 40, 0));
  EXPECT_EQ(sum(0, 20, 0) + sum(20, 20, 5), sum(0, 40, 0));
}

/// One number a row, wherever rows and columns are split.
TEST(ChainProduct, SumsOfSquaresOfEachRow) {
  std::mt19937 generator(4);
  constexpr int64_t rows = 37, columns = 1100;
  TestTensor x(DType::F32, {extent(rows), extent(columns)});
  x.random(generator, -1, 1);
  auto sums = [&](Range some, Range lanes, int64_t padding) {
    TestTensor part(DType::F32,
                    {extent(some.size(), padding, some.begin, rows),
                     extent(lanes.size(), 0, lanes.begin, columns)});
    part.fill([&](const Index &i) {
      return x.at({some.begin + i[0], lanes.begin + i[1]});
    });
    TestTensor out(DType::F32, {part.dims()[0]});
    TestCall call{"einsum", {&part, &part}, {&out}, {kPieces, 2}, "ij,ij->i"};
    Status status = call.run();
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> result;
    for (int64_t i = 0; i < some.size(); ++i)
      result.push_back(static_cast<float>(out.at({i})));
    return result;
  };
  std::vector<float> whole = sums({0, rows}, {0, columns}, 0);
  std::vector<float> left = sums({0, rows}, {0, 550}, 0);
  std::vector<float> right = sums({0, rows}, {550, columns}, 0);
  std::vector<float> lower = sums({20, rows}, {0, columns}, 3);
  for (int64_t i = 0; i < rows; ++i) {
    double want = 0;
    for (int64_t j = 0; j < columns; ++j)
      want += x.at({i, j}) * x.at({i, j});
    EXPECT_NEAR(whole[i], want, 1e-6 * want);
    EXPECT_EQ(left[i] + right[i], whole[i]);
  }
  for (size_t i = 0; i < lower.size(); ++i)
    EXPECT_EQ(lower[i], whole[20 + i]);
}

/// A letter of one lane that one input alone has is no sum of its own.
TEST(ChainProduct, LoneLettersOfOneLane) {
  std::mt19937 generator(5);
  TestTensor x(DType::F32, {extent(9), extent(40)});
  TestTensor w(DType::F32, {extent(6), extent(1), extent(40)});
  x.random(generator, -1, 1);
  w.random(generator, -1, 1);
  TestTensor cut(DType::F32, {extent(9), extent(6)}),
      plain(DType::F32, cut.dims());
  TestCall pieces{"einsum", {&x, &w}, {&cut}, {kPieces, 2}, "mk,nok->mn"};
  ASSERT_TRUE(pieces.run().ok());
  TestCall whole{"einsum", {&x, &w}, {&plain}, {}, "mk,nok->mn"};
  ASSERT_TRUE(whole.run().ok());
  auto want = [&](const Index &i) {
    double sum = 0;
    for (int64_t k = 0; k < 40; ++k)
      sum += x.at({i[0], k}) * w.at({i[1], 0, k});
    return sum;
  };
  expectLanes(cut, want, 1e-5);
  expectLanes(plain, want, 1e-5);
}

TEST(ChainProduct, SumsOfSquaresWithoutPieces) {
  std::mt19937 generator(2);
  for (DType type : {DType::F32, DType::BF16, DType::F64})
    for (auto [rows, columns, padding] :
         {std::array<int64_t, 3>{1, 1, 0}, {300, 170, 0}, {300, 170, 3}}) {
      TestTensor x(type, {extent(rows, padding), extent(columns, padding)});
      TestTensor out(DType::F32, {});
      x.random(generator, -1, 1);
      TestCall call{"einsum", {&x, &x}, {&out}, {}, "ij,ij->"};
      ASSERT_TRUE(call.run().ok());
      double want = 0;
      forEachIndex(x.shape(),
                   [&](const Index &i) { want += x.at(i) * x.at(i); });
      EXPECT_NEAR(out.at({}), want, 1e-6 * want);
    }
}

TEST(ChainProduct, Refusals) {
  TestTensor x(DType::F32, {extent(4), extent(6, 0, 0, 12)});
  TestTensor w(DType::F32, {extent(6, 0, 0, 12), extent(5)});
  TestTensor out(DType::F32, {extent(4), extent(5)});
  TestCall call{"einsum", {&x, &w}, {&out}, {4, 2}, "mk,kn->mn"};
  ASSERT_TRUE(call.check().ok());
  auto message = [&](std::vector<int64_t> numbers) {
    call.numbers = numbers;
    return call.check().message();
  };
  EXPECT_EQ(message({4}), "einsum: got 1 numbers, expected 2");
  EXPECT_EQ(message({3, 2}), "einsum: sums are cut into 3 pieces, expected a "
                             "power of two up to 64");
  EXPECT_EQ(message({4, 1}),
            "einsum: factor 0 is cut into pieces but not summed over");
  EXPECT_EQ(message({4, 0}), "einsum: factor 1 is summed over and split, but "
                             "not cut into pieces");
  TestTensor uneven(DType::F32, {extent(4), extent(4, 0, 0, 12)});
  TestTensor third(DType::F32, {extent(4, 0, 0, 12), extent(5)});
  call.inputs = {&uneven, &third};
  EXPECT_EQ(message({4, 2}), "einsum: a rank holds 4 of 12 lanes, which is no "
                             "power of two of 4 equal pieces");
  TestTensor doubles(DType::F64, out.dims());
  call.inputs = {&x, &w};
  call.outputs = {&doubles};
  EXPECT_EQ(message({4, 2}), "einsum: only products of f32, bf16 or f16 are "
                             "cut into pieces");
}

} // namespace

#include "TestTensor.h"

#include "runtime/kernels/Copy.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace tandem;

namespace {

/// A distinct value for each lane of a tensor.
double serial(const Index &index) {
  double value = 1;
  for (int64_t i : index)
    value = value * 50 + i;
  return value;
}

const DType kSizes[] = {DType::I64, DType::F32, DType::I16};

TEST(Copy, AllStrideOrders) {
  for (int64_t bytes : {1, 2, 4, 8, 12}) {
    std::vector<int64_t> sizes = {3, 20, 17}, order = {0, 1, 2};
    do {
      // The output is dense in the order of a permutation, the input not.
      std::vector<int64_t> outStrides(3), inStrides = {400, 1, 21};
      int64_t stride = 1;
      for (int d = 2; d >= 0; --d) {
        outStrides[order[d]] = stride;
        stride *= sizes[order[d]];
      }
      std::vector<std::byte> in(1300 * bytes), out(stride * bytes);
      for (size_t i = 0; i < in.size(); ++i)
        in[i] = std::byte(i * 7 + i / 256);
      copyStrided(out.data(), in.data(), bytes, sizes, outStrides, inStrides);
      forEachIndex(sizes, [&](const Index &i) {
        int64_t o = 0, from = 0;
        for (int d = 0; d < 3; ++d) {
          o += i[d] * outStrides[d];
          from += i[d] * inStrides[d];
        }
        for (int64_t b = 0; b < bytes; ++b)
          ASSERT_EQ(out[o * bytes + b], in[from * bytes + b]);
      });
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Transpose, AnyPermutation) {
  for (DType type : kSizes) {
    std::vector<int64_t> perm = {0, 1, 2};
    do {
      TestTensor x(type, {extent(3, 1), extent(9, 2), extent(12, 1)});
      std::vector<TensorDim> dims;
      for (int64_t from : perm)
        dims.push_back(x.dims()[from]);
      TestTensor y(type, dims);
      x.fill([](const Index &i) { return i[0] * 100 + i[1] * 20 + i[2]; });
      TestCall call{"transpose", {&x}, {&y}, perm, ""};
      ASSERT_TRUE(call.run().ok());
      expectLanes(
          y,
          [&](const Index &o) {
            Index i(3);
            for (int d = 0; d < 3; ++d)
              i[perm[d]] = o[d];
            return x.at(i);
          },
          0);
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(Transpose, LargeOnThreads) {
  TestTensor x(DType::F32, {extent(300), extent(210)});
  TestTensor y(DType::F32, {extent(210), extent(300)});
  x.fill(serial);
  TestCall call{"transpose", {&x}, {&y}, {1, 0}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(y, [&](const Index &o) { return x.at({o[1], o[0]}); }, 0);
}

TEST(Reshape, ValidLanesInOrder) {
  TestTensor x(DType::F32, {extent(4, 2), extent(6, 1)});
  TestTensor y(DType::F32, {extent(2, 1), extent(3), extent(4, 3)});
  x.fill(serial);
  TestCall call{"reshape", {&x}, {&y}, {}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      y,
      [&](const Index &o) {
        int64_t n = (o[0] * 3 + o[1]) * 4 + o[2];
        return x.at({n / 6, n % 6});
      },
      0);
  TestTensor wrong(DType::F32, {extent(5)});
  TestCall bad{"reshape", {&x}, {&wrong}, {}, ""};
  EXPECT_EQ(bad.check().message(),
            "reshape: input 0 has 24 valid elements but output 0 5");
}

TEST(Slice, StartsStepsAndForeignLanes) {
  TestTensor x(DType::F32, {extent(4), extent(11, 2)});
  TestTensor y(DType::F32, {extent(2), extent(3)});
  x.fill(serial);
  TestCall call{"slice", {&x}, {&y}, {1, 2, 2, 3}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      y, [&](const Index &o) { return x.at({1 + 2 * o[0], 2 + 3 * o[1]}); }, 0);
  // This rank holds indices 3 to 5 of 8; it wants 1 to 4.
  TestTensor piece(DType::F32, {extent(3, 1, 3, 8)});
  TestTensor part(DType::F32, {extent(4)});
  piece.fill(serial);
  TestCall own{"slice", {&piece}, {&part}, {1, 1}, ""};
  ASSERT_TRUE(own.run().ok());
  expectLanes(
      part, [&](const Index &o) { return o[0] < 2 ? 0 : 50 + o[0] - 2; }, 0);
}

TEST(TakeOwn, APieceOfAPiece) {
  TestTensor x(DType::I64, {extent(7, 1, 10, 30), extent(5)});
  TestTensor y(DType::I64, {extent(3, 2, 12, 30), extent(5)});
  x.fill(serial);
  TestCall call{"take_own", {&x}, {&y}, {}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(y, [&](const Index &o) { return x.at({o[0] + 2, o[1]}); }, 0);
}

TEST(Concat, AlongEachDimension) {
  for (int64_t dim : {0, 1}) {
    auto dims = [&](int64_t size) {
      std::vector<TensorDim> dims = {extent(3, 1), extent(3, 1)};
      dims[dim] = extent(size, 2);
      return dims;
    };
    TestTensor a(DType::F32, dims(4)), b(DType::F32, dims(1));
    TestTensor y(DType::F32, dims(5));
    a.fill(serial);
    b.fill([](const Index &i) { return -serial(i); });
    TestCall call{"concat", {&a, &b}, {&y}, {dim}, ""};
    ASSERT_TRUE(call.run().ok());
    expectLanes(
        y,
        [&](Index o) {
          if (o[dim] < 4)
            return a.at(o);
          o[dim] -= 4;
          return b.at(o);
        },
        0);
  }
}

TEST(Pad, BothSides) {
  TestTensor x(DType::F32, {extent(3, 1), extent(2)});
  TestTensor y(DType::F32, {extent(6), extent(4, 1)});
  x.fill(serial);
  TestCall call{"pad", {&x}, {&y}, {1, 2, 2, 0, bitsOf(-7)}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      y,
      [&](const Index &o) {
        bool inside = o[0] >= 1 && o[0] < 4 && o[1] >= 2;
        return inside ? x.at({o[0] - 1, o[1] - 2}) : -7;
      },
      0);
}

TEST(Fill, FillIotaMaskPadding) {
  TestTensor y(DType::BF16, {extent(3, 1), extent(5)});
  TestCall fill{"fill", {}, {&y}, {bitsOf(1.5)}, ""};
  ASSERT_TRUE(fill.run().ok());
  expectLanes(y, [](const Index &) { return 1.5; }, 0);

  TestTensor count(DType::I32, {extent(3, 1, 10), extent(5)});
  TestCall iota{"iota", {}, {&count}, {0, bitsOf(2), bitsOf(3)}, ""};
  ASSERT_TRUE(iota.run().ok());
  expectLanes(count, [](const Index &i) { return 2 + 3 * (10 + i[0]); }, 0);

  TestTensor x(DType::F32, {extent(2, 3), extent(4, 2)});
  x.fill(serial);
  TestTensor all(DType::F32, {extent(5), extent(6)});
  TestCall mask{"mask_padding", {&x}, {&all}, {bitsOf(-1)}, ""};
  ASSERT_TRUE(mask.run().ok());
  expectLanes(
      all, [&](const Index &i) { return i[0] < 2 && i[1] < 4 ? x.at(i) : -1; },
      0);
}

TEST(Fill, ConstantGivesEachRankItsValues) {
  // Rows 2 and 3 of 4, columns 0 to 2 of 3; element (i, j) is 10 i + j.
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 3; ++j)
      numbers.push_back(bitsOf(10.0 * i + j));
  TestTensor y(DType::F32, {extent(2, 1, 2, 4), extent(3, 2)});
  TestCall constant{"constant", {}, {&y}, numbers, ""};
  ASSERT_TRUE(constant.run().ok());
  expectLanes(y, [](const Index &i) { return 10.0 * (2 + i[0]) + i[1]; }, 0);

  constant.numbers.pop_back();
  EXPECT_FALSE(constant.run().ok());
}

TEST(Embedding, OwnedRowsOnly) {
  for (DType type : {DType::F32, DType::BF16, DType::F64}) {
    TestTensor table(type, {extent(5, 1, 10, 22), extent(7, 2)});
    TestTensor ids(DType::I32, {extent(2, 1), extent(3, 1)});
    TestTensor y(DType::F32, {extent(2, 1), extent(3, 1), extent(7, 2)});
    table.fill([](const Index &i) { return i[0] * 8 + i[1]; });
    ids.fill([](const Index &i) { return 9 + i[0] * 3 + i[1]; });
    TestCall call{"embedding", {&table, &ids}, {&y}, {}, ""};
    ASSERT_TRUE(call.run().ok());
    expectLanes(
        y,
        [&](const Index &o) {
          int64_t row = 9 + o[0] * 3 + o[1] - 10;
          return row >= 0 && row < 5 ? table.at({row, o[2]}) : 0;
        },
        0);
    ids.set({1, 1}, 22);
    EXPECT_EQ(call.run().message(),
              "embedding: id 22 is outside the vocabulary of 22");
  }
}

TEST(Gather, BatchAndMiddleDimensions) {
  TestTensor x(DType::F32,
               {extent(2, 1), extent(3), extent(6, 1), extent(4, 1)});
  TestTensor indices(DType::I32, {extent(2, 1), extent(5, 1)});
  TestTensor y(DType::F32,
               {extent(2, 1), extent(3), extent(5, 1), extent(4, 1)});
  x.fill(serial);
  indices.fill([](const Index &i) { return (i[0] * 5 + i[1] * 2) % 6; });
  TestCall call{"gather", {&x, &indices}, {&y}, {2, 1}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      y,
      [&](const Index &o) {
        int64_t at = indices.at({o[0], o[2]});
        return x.at({o[0], o[1], at, o[3]});
      },
      0);
  indices.set({0, 0}, -1);
  EXPECT_EQ(call.run().message(), "gather: index -1 is outside [0, 6)");
}

TEST(Gather, ASplitDimensionGivesZerosElsewhere) {
  TestTensor x(DType::F32, {extent(3, 1, 2, 9)});
  TestTensor indices(DType::I32, {extent(9)}), y(DType::F32, {extent(9)});
  x.fill([](const Index &i) { return 10 + i[0]; });
  indices.fill([](const Index &i) { return i[0]; });
  TestCall call{"gather", {&x, &indices}, {&y}, {0, 0}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      y, [](const Index &o) { return o[0] >= 2 && o[0] < 5 ? 8 + o[0] : 0; },
      0);
}

TEST(ScatterAdd, RepeatedIndicesAdd) {
  for (DType type : {DType::F32, DType::F64, DType::I32})
    for (bool based : {false, true}) {
      TestTensor base(type, {extent(4, 1), extent(70, 1)});
      TestTensor y(type, {extent(4, 1), extent(70, 1)});
      TestTensor indices(DType::I32, {extent(6)});
      TestTensor updates(type, {extent(6), extent(70, 1)});
      std::mt19937 generator(5);
      base.random(generator, -9, 9);
      updates.random(generator, -9, 9);
      indices.fill([](const Index &i) { return i[0] % 3; });
      TestCall call{"scatter_add", {&indices, &updates}, {&y}, {0, 0}, ""};
      if (based)
        call.inputs.insert(call.inputs.begin(), &base);
      ASSERT_TRUE(call.run().ok());
      expectLanes(
          y,
          [&](const Index &o) {
            double sum = based ? base.at(o) : 0;
            for (int64_t i = 0; i < 6; ++i)
              if (i % 3 == o[0])
                sum += updates.at({i, o[1]});
            return sum;
          },
          1e-6);
    }
}

TEST(UpdateSlice, RowsBelowTheLengthInsideTheCache) {
  for (DType cacheType : {DType::F32, DType::BF16})
    for (bool lengths : {false, true}) {
      TestTensor cache(cacheType,
                       {extent(3, 1), extent(8, 1), extent(2, 1), extent(5)});
      TestTensor y(cacheType, cache.dims());
      TestTensor rows(DType::F32,
                      {extent(3, 1), extent(4, 1), extent(2, 1), extent(5)});
      TestTensor positions(DType::I32, {extent(3, 1)});
      TestTensor many(DType::I32, {extent(3, 1)});
      cache.fill([](const Index &i) { return -(i[1] * 8 + i[3]); });
      rows.fill([](const Index &i) { return i[0] * 64 + i[1] * 8 + i[3]; });
      std::vector<double> at = {0, 6, -1}, length = {2, 4, 4};
      positions.fill([&](const Index &i) { return at[i[0]]; });
      many.fill([&](const Index &i) { return length[i[0]]; });
      TestCall call{"update_slice", {&cache, &rows, &positions}, {&y}, {}, ""};
      if (lengths)
        call.inputs.push_back(&many);
      ASSERT_TRUE(call.run().ok());
      expectLanes(
          y,
          [&](const Index &o) {
            int64_t row = o[1] - at[o[0]];
            bool written = row >= 0 && row < (lengths ? length[o[0]] : 4);
            return written ? rows.at({o[0], row, o[2], o[3]}) : cache.at(o);
          },
          0);
    }
}

TEST(Registry, EveryNameIsFound) {
  std::string last;
  for (const Kernel *kernel : allKernels()) {
    EXPECT_LT(last, kernel->name());
    EXPECT_EQ(findKernel(kernel->name()), kernel);
    last = kernel->name();
  }
  EXPECT_EQ(findKernel("no_such_kernel"), nullptr);
}

TEST(Contract, MessagesNameTheArgument) {
  TestTensor x(DType::I32, {extent(3)}), y(DType::F32, {extent(4)});
  TestCall soft{"softmax", {&x}, {&y}, {}, ""};
  EXPECT_EQ(soft.check().message(),
            "softmax: input 0 has type i32, expected f64, f32, f16, bf16");
  TestCall none{"softmax", {}, {&y}, {}, ""};
  EXPECT_EQ(none.check().message(), "softmax: got 0 inputs, expected 1");
  TestTensor wide(DType::F32, {extent(3)});
  TestCall shape{"softmax", {&wide}, {&y}, {}, ""};
  EXPECT_EQ(shape.check().message(), "softmax: dimension 0 of input 0 is 3 but "
                                     "dimension 0 of output 0 is 4");
}

} // namespace

#include "runtime/files/ReadView.h"

#include "test/unit/files/TestFiles.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace tandem;
using namespace tandem::test;

namespace {

/// A float tensor that holds 0, 1, 2, ... in row-major order.
struct Counting {
  std::vector<float> values;
  StoredTensor tensor;

  explicit Counting(std::vector<int64_t> shape) {
    tensor.name = "t";
    tensor.dtype = DType::F32;
    tensor.shape = std::move(shape);
    values.resize(tensor.elements());
    std::iota(values.begin(), values.end(), 0.0f);
    tensor.bytes = values.size() * 4;
    tensor.data = reinterpret_cast<const std::byte *>(values.data());
  }
};

std::vector<float> read(const Counting &counting, const StridedView &view) {
  std::vector<float> out(*elementCount(view.sizes));
  Status status = readView(counting.tensor, view, DType::F32, out.data());
  EXPECT_TRUE(status.ok()) << messageOf(status);
  return out;
}

/// The view's values, one element after another.
std::vector<float> slowly(const StridedView &view) {
  std::vector<float> out;
  std::vector<int64_t> index(view.sizes.size());
  for (uint64_t n = *elementCount(view.sizes); n-- > 0;) {
    int64_t at = static_cast<int64_t>(view.offset);
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * view.strides[d];
    out.push_back(static_cast<float>(at));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.sizes[d])
        break;
      index[d] = 0;
    }
  }
  return out;
}

} // namespace

TEST(ReadView, ReadsTheExamplesOfItsHeader) {
  Counting t({3, 4});
  EXPECT_EQ(read(t, {1, {3, 2}, {4, 1}}),
            (std::vector<float>{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(read(t, {0, {4, 3}, {1, 4}}),
            (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_EQ(read(t, {0, {3, 2, 2}, {4, 1, 2}}),
            (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11}));
}

TEST(ReadView, ReadsScalarsAndNothing) {
  Counting t({3, 4});
  EXPECT_EQ(read(t, {7, {}, {}}), std::vector<float>{7});
  EXPECT_EQ(read(t, {7, {1, 1}, {99, 99}}), std::vector<float>{7});
  EXPECT_EQ(read(t, {100, {0, 5}, {1, 1}}), std::vector<float>{});
  EXPECT_EQ(read(t, {11, {3}, {-1}}), (std::vector<float>{11, 10, 9}));
  EXPECT_EQ(read(t, {5, {3}, {0}}), (std::vector<float>{5, 5, 5}));
}

TEST(ReadView, AgreesWithOneElementAfterAnother) {
  std::mt19937 generator(3);
  Counting t({40, 30, 20});
  for (int trial = 0; trial < 300; ++trial) {
    StridedView view;
    std::vector<int64_t> strides{600, 20, 1, 2, 40, 300, 3};
    std::shuffle(strides.begin(), strides.end(), generator);
    int64_t reach = 0;
    for (size_t d = 0; d < 1 + generator() % 3; ++d) {
      int64_t room = (24000 - 1 - reach) / strides[d] + 1;
      int64_t most = std::min<int64_t>(room, 70);
      view.sizes.push_back(1 + static_cast<int64_t>(generator() % most));
      view.strides.push_back(strides[d]);
      reach += (view.sizes.back() - 1) * strides[d];
    }
    view.offset = generator() % static_cast<uint64_t>(24000 - reach);
    ASSERT_EQ(read(t, view), slowly(view)) << trial;
  }
}

TEST(ReadView, TransposesLargePlanesInEveryWidth) {
  Counting t({300, 700});
  StridedView view{0, {700, 300}, {1, 700}};
  std::vector<float> expected = slowly(view);
  EXPECT_EQ(read(t, view), expected);
  std::vector<double> wide(expected.size());
  ASSERT_OK(readView(t.tensor, view, DType::F64, wide.data()));
  EXPECT_EQ(wide, std::vector<double>(expected.begin(), expected.end()));
  std::vector<uint16_t> narrow(expected.size());
  ASSERT_OK(readView(t.tensor, view, DType::BF16, narrow.data()));
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(narrow[i], floatToBfloat(expected[i]));
}

TEST(ReadView, ReadsBlocksAcrossTheirBoundaries) {
  // Q8_0 blocks whose scale is 1: value j of block b is b + j - 30.
  std::string bytes;
  for (int b = 0; b < 6; ++b) {
    uint16_t one = floatToHalf(1.0f);
    bytes.append(reinterpret_cast<char *>(&one), 2);
    for (int j = 0; j < 32; ++j)
      bytes += static_cast<char>(b + j - 30);
  }
  StoredTensor tensor;
  tensor.name = "t";
  tensor.dtype = DType::Q8_0;
  tensor.shape = {3, 64};
  tensor.data = reinterpret_cast<const std::byte *>(bytes.data());
  auto value = [](int64_t at) {
    return static_cast<float>(at / 32 + at % 32 - 30);
  };
  StridedView columns{10, {3, 40}, {64, 1}};
  StridedView turned{10, {40, 3}, {1, 64}};
  std::vector<float> a(120), b(120);
  ASSERT_OK(readView(tensor, columns, DType::F32, a.data()));
  ASSERT_OK(readView(tensor, turned, DType::F32, b.data()));
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 40; ++j) {
      ASSERT_EQ(a[i * 40 + j], value(10 + 64 * i + j));
      ASSERT_EQ(b[j * 3 + i], value(10 + 64 * i + j));
    }
}

TEST(ReadView, FillsABufferOfLargerCapacity) {
  Counting t({3, 4});
  std::vector<float> out(15, -1);
  ASSERT_OK(
      readView(t.tensor, {1, {3, 2}, {4, 1}}, DType::F32, out.data(), {5, 1}));
  EXPECT_EQ(out, (std::vector<float>{1, 2, -1, -1, -1, 5, 6, -1, -1, -1, 9, 10,
                                     -1, -1, -1}));
  std::fill(out.begin(), out.end(), -1.0f);
  ASSERT_OK(
      readView(t.tensor, {0, {2, 3}, {1, 4}}, DType::F32, out.data(), {7, 2}));
  EXPECT_EQ(out, (std::vector<float>{0, -1, 4, -1, 8, -1, -1, 1, -1, 5, -1, 9,
                                     -1, -1, -1}));
}

TEST(ReadView, RefusesViewsThatLeaveTheTensor) {
  Counting t({3, 4});
  float out[64];
  auto tryTo = [&](const StridedView &view) {
    return readView(t.tensor, view, DType::F32, out);
  };
  expectRefusal(tryTo({0, {3, 5}, {4, 1}}),
                "tensor 't': the view of sizes [3, 5] and strides [4, 1] at 0 "
                "leaves the stored shape [3, 4]");
  expectRefusal(tryTo({12, {1}, {1}}), "leaves the stored shape");
  expectRefusal(tryTo({1, {3}, {-1}}), "leaves the stored shape");
  expectRefusal(tryTo({~0ull, {2}, {1}}), "leaves the stored shape");
  expectRefusal(tryTo({0, {2}, {INT64_MAX}}), "leaves the stored shape");
  expectRefusal(tryTo({0, {-1}, {1}}), "cannot have the sizes [-1]");
  expectRefusal(tryTo({0, {1, 2}, {1}}), "2 sizes but 1 strides");
  expectRefusal(readView(t.tensor, {0, {3}, {1}}, DType::Q8_0, out),
                "a view cannot be read as Q8_0");
}

TEST(MappedView, IsThereWhereNothingNeedsCopying) {
  Counting t({3, 4});
  EXPECT_EQ(mappedView(t.tensor, wholeView(t.tensor), DType::F32),
            t.tensor.data);
  EXPECT_EQ(mappedView(t.tensor, {4, {2, 4}, {4, 1}}, DType::F32),
            t.tensor.data + 16);
  EXPECT_EQ(mappedView(t.tensor, {1, {3, 2}, {4, 1}}, DType::F32), nullptr);
  EXPECT_EQ(mappedView(t.tensor, {0, {4, 3}, {1, 4}}, DType::F32), nullptr);
  EXPECT_EQ(mappedView(t.tensor, wholeView(t.tensor), DType::BF16), nullptr);
  StoredTensor odd = t.tensor;
  odd.data += 1;
  odd.shape = {2, 4};
  EXPECT_EQ(mappedView(odd, wholeView(odd), DType::F32), nullptr);
}

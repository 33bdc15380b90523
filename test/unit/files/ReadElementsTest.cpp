#include "runtime/files/ReadElements.h"

#include "runtime/files/ConvertElements.h"
#include "runtime/files/Gguf.h"
#include "test/unit/files/TestFiles.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace tandem;
using namespace tandem::test;

namespace {

/// A tensor over bytes in memory.
struct Memory {
  std::string bytes;
  StoredTensor tensor;

  Memory(DType dtype, std::string text, int64_t elements)
      : bytes(std::move(text)) {
    tensor.name = "t";
    tensor.dtype = dtype;
    tensor.shape = {elements};
    tensor.bytes = bytes.size();
    tensor.data = reinterpret_cast<const std::byte *>(bytes.data());
  }
};

template <typename T> Memory memory(DType dtype, const std::vector<T> &values) {
  std::string text(reinterpret_cast<const char *>(values.data()),
                   values.size() * sizeof(T));
  return Memory(dtype, text, static_cast<int64_t>(values.size()));
}

template <typename T> std::vector<T> readAll(const Memory &memory, DType to) {
  std::vector<T> out(memory.tensor.elements());
  Status status = readElements(memory.tensor, 0, out.size(), to, out.data());
  EXPECT_TRUE(status.ok()) << messageOf(status);
  return out;
}

/// A block under construction: named integers are put where the format's
/// description has them, and what each value should be is kept beside.
struct Packed {
  std::vector<uint8_t> bytes;
  std::vector<double> values;

  explicit Packed(DType type)
      : bytes(static_cast<size_t>(blockBytes(type))),
        values(static_cast<size_t>(blockElements(type))) {}
  void half(size_t at, double value) {
    uint16_t bits = floatToHalf(static_cast<float>(value));
    std::memcpy(&bytes[at], &bits, sizeof bits);
  }
  void bits(size_t at, int shift, int value) {
    bytes[at] = static_cast<uint8_t>(bytes[at] | value << shift);
  }
};

std::mt19937 generator(7);
int random(int bound) { return static_cast<int>(generator() % bound); }

// Scales are powers of two and small integers, so that every expected value
// is exact in float32.
Packed packSmall(DType type) {
  Packed block(type);
  bool five = type == DType::Q5_0 || type == DType::Q5_1;
  bool minimum = type == DType::Q4_1 || type == DType::Q5_1;
  double d = 0.25, m = minimum ? -1.5 : 0;
  block.half(0, d);
  if (minimum)
    block.half(2, m);
  size_t high = minimum ? 4 : 2, low = high + (five ? 4 : 0);
  for (int j = 0; j < 32; ++j) {
    int value = random(five ? 32 : 16);
    block.bits(low + j % 16, j / 16 * 4, value & 15);
    if (five)
      block.bits(high + j / 8, j % 8, value >> 4);
    int zero = minimum ? 0 : five ? 16 : 8;
    block.values[j] = d * (value - zero) + m;
  }
  return block;
}

Packed packQ8_0() {
  Packed block(DType::Q8_0);
  block.half(0, 0.125);
  for (int j = 0; j < 32; ++j) {
    int value = random(256) - 128;
    block.bytes[2 + j] = static_cast<uint8_t>(value);
    block.values[j] = 0.125 * value;
  }
  return block;
}

void packScale(Packed &block, int group, int scale, int minimum) {
  size_t at = 4;
  if (group < 4) {
    block.bits(at + group, 0, scale);
    block.bits(at + 4 + group, 0, minimum);
  } else {
    block.bits(at + 4 + group, 0, scale & 15);
    block.bits(at + 4 + group, 4, minimum & 15);
    block.bits(at + group - 4, 6, scale >> 4);
    block.bits(at + group, 6, minimum >> 4);
  }
}

Packed packK(DType type) {
  Packed block(type);
  bool five = type == DType::Q5_K;
  block.half(0, 0.5);
  block.half(2, 0.25);
  for (int group = 0; group < 8; ++group) {
    int scale = random(64), minimum = random(64);
    packScale(block, group, scale, minimum);
    for (int j = 0; j < 32; ++j) {
      int value = random(five ? 32 : 16);
      size_t low = (five ? 48 : 16) + group / 2 * 32 + j;
      block.bits(low, group % 2 * 4, value & 15);
      if (five)
        block.bits(16 + j, group, value >> 4);
      block.values[32 * group + j] = 0.5 * scale * value - 0.25 * minimum;
    }
  }
  return block;
}

Packed packQ6_K() {
  Packed block(DType::Q6_K);
  block.half(208, 0.5);
  for (int i = 0; i < 16; ++i)
    block.bytes[192 + i] = static_cast<uint8_t>(random(256));
  for (int i = 0; i < 256; ++i) {
    int value = random(64), part = i / 128, within = i % 128;
    block.bits(64 * part + within % 64, within / 64 * 4, value & 15);
    block.bits(128 + 32 * part + within % 32, within / 32 * 2, value >> 4);
    auto scale = static_cast<int8_t>(block.bytes[192 + i / 16]);
    block.values[i] = 0.5 * scale * (value - 32);
  }
  return block;
}

Packed pack(DType type) {
  switch (type) {
  case DType::Q8_0:
    return packQ8_0();
  case DType::Q4_K:
  case DType::Q5_K:
    return packK(type);
  case DType::Q6_K:
    return packQ6_K();
  default:
    return packSmall(type);
  }
}

/// A tensor of `count` random blocks, and its values.
std::pair<Memory, std::vector<double>> randomBlocks(DType type, int count) {
  std::string bytes;
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    Packed block = pack(type);
    bytes.append(block.bytes.begin(), block.bytes.end());
    values.insert(values.end(), block.values.begin(), block.values.end());
  }
  return {Memory(type, bytes, static_cast<int64_t>(values.size())), values};
}

class Blocks : public testing::TestWithParam<DType> {};

} // namespace

TEST_P(Blocks, BecomeTheirValues) {
  auto [memory, values] = randomBlocks(GetParam(), 3);
  std::vector<float> out = readAll<float>(memory, DType::F32);
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(out[i], values[i]) << i;
  std::vector<double> wide = readAll<double>(memory, DType::F64);
  EXPECT_EQ(wide, values);
}

TEST_P(Blocks, AreReadFromAnyElementOn) {
  auto [memory, values] = randomBlocks(GetParam(), 9);
  for (int trial = 0; trial < 50; ++trial) {
    size_t first = static_cast<size_t>(random(static_cast<int>(values.size())));
    size_t count = static_cast<size_t>(
        random(static_cast<int>(values.size() - first) + 1));
    std::vector<float> out(count + 1, -77.0f);
    ASSERT_OK(
        readElements(memory.tensor, first, count, DType::F32, out.data()));
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(out[i], values[first + i]) << first << " + " << i;
    EXPECT_EQ(out[count], -77.0f);
  }
}

TEST_P(Blocks, StayAsTheyAre) {
  auto [memory, values] = randomBlocks(GetParam(), 3);
  const StoredTensor &tensor = memory.tensor;
  auto elements = static_cast<uint64_t>(blockElements(GetParam()));
  std::string out(tensor.bytes, '\0');
  ASSERT_OK(readElements(tensor, 0, 3 * elements, GetParam(), out.data()));
  EXPECT_EQ(out, memory.bytes);
  expectRefusal(readElements(tensor, 1, elements, GetParam(), out.data()),
                "tensor 't': cannot be read as");
  expectRefusal(readElements(tensor, 0, elements, DType::I32, out.data()),
                "values cannot be read as i32");
}

INSTANTIATE_TEST_SUITE_P(Types, Blocks,
                         testing::Values(DType::Q8_0, DType::Q4_0, DType::Q4_1,
                                         DType::Q5_0, DType::Q5_1, DType::Q4_K,
                                         DType::Q5_K, DType::Q6_K),
                         [](auto &info) {
                           return std::string(name(info.param));
                         });

TEST(ReadElements, QuantisedModelIsNearItsOriginal) {
  TANDEM_ASSET_OR_SKIP(plain, "stories260k/stories260k-f32.gguf");
  TANDEM_ASSET_OR_SKIP(quantised, "stories260k/stories260k-q8_0.gguf");
  Result<GgufModel> a = readGguf(plain), b = readGguf(quantised);
  ASSERT_OK(a);
  ASSERT_OK(b);
  for (const StoredTensor &tensor : a->tensors.tensors()) {
    const StoredTensor *other = b->tensors.find(tensor.name);
    ASSERT_NE(other, nullptr);
    ASSERT_EQ(other->shape, tensor.shape);
    std::vector<float> x(tensor.elements()), y(tensor.elements());
    ASSERT_OK(readElements(tensor, 0, x.size(), DType::F32, x.data()));
    ASSERT_OK(readElements(*other, 0, y.size(), DType::F32, y.data()));
    for (size_t i = 0; i < x.size(); i += 32) {
      size_t end = std::min(i + 32, x.size());
      float largest = 0;
      for (size_t j = i; j < end; ++j)
        largest = std::max(largest, std::fabs(x[j]));
      // Half a step of the scale largest / 127, and the scale's own rounding.
      for (size_t j = i; j < end; ++j)
        ASSERT_NEAR(y[j], x[j], largest / 127 * 0.6f) << tensor.name << j;
    }
  }
}

TEST(ReadElements, EveryHalfIsExact) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i)
    halves[i] = static_cast<uint16_t>(i);
  std::vector<float> out =
      readAll<float>(memory(DType::F16, halves), DType::F32);
  for (size_t i = 0; i < halves.size(); ++i) {
    float expected = halfToFloat(halves[i]);
    ASSERT_EQ(std::memcmp(&out[i], &expected, 4), 0) << i;
  }
  std::vector<float> wide =
      readAll<float>(memory(DType::BF16, halves), DType::F32);
  EXPECT_EQ(wide[0x3f80], 1.0f);
  EXPECT_EQ(wide[0xc040], -3.0f);
}

TEST(ReadElements, FloatsRoundToNearestEven) {
  Memory floats = memory<float>(
      DType::F32, {1.0f, 1.00390625f, 1.01171875f, -2.5f, INFINITY, NAN});
  std::vector<uint16_t> out = readAll<uint16_t>(floats, DType::BF16);
  EXPECT_EQ(out[0], 0x3f80);
  EXPECT_EQ(out[1], 0x3f80); // halfway between 1 and the next: to even
  EXPECT_EQ(out[2], 0x3f82); // halfway again: to even, which is up
  EXPECT_EQ(out[3], 0xc020);
  EXPECT_EQ(out[4], 0x7f80);
  EXPECT_TRUE(std::isnan(bfloatToFloat(out[5])));
  std::vector<uint16_t> halves = readAll<uint16_t>(floats, DType::F16);
  EXPECT_EQ(halves[0], 0x3c00);
  EXPECT_EQ(halves[1], floatToHalf(1.00390625f));
}

TEST(ReadElements, IntegersAreExactOrRefused) {
  Memory wide = memory<int64_t>(DType::I64, {-100, 0, 2147483647});
  EXPECT_EQ(readAll<int32_t>(wide, DType::I32),
            (std::vector<int32_t>{-100, 0, 2147483647}));
  int32_t out[3];
  expectRefusal(readElements(wide.tensor, 0, 3, DType::U8, out),
                "tensor 't': element 0 is -100, which ui8 cannot hold");
  expectRefusal(readElements(wide.tensor, 2, 1, DType::F32, out),
                "element 2 is 2147483647, which f32 cannot hold");
  Memory large = memory<uint64_t>(DType::U64, {1ull << 63, ~0ull});
  EXPECT_EQ(readAll<uint64_t>(large, DType::U64)[1], ~0ull);
  int64_t signedOut[2];
  expectRefusal(readElements(large.tensor, 0, 2, DType::I64, signedOut),
                "element 0 is 9223372036854775808, which i64 cannot hold");
  Memory extremes =
      memory<int64_t>(DType::I64, {std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int64_t>::max()});
  double doubles[2];
  ASSERT_OK(readElements(extremes.tensor, 0, 1, DType::F64, doubles));
  EXPECT_EQ(doubles[0], -0x1p63);
  expectRefusal(readElements(extremes.tensor, 1, 1, DType::F64, doubles),
                "which f64 cannot hold");
}

TEST(ReadElements, FloatsBecomeIntegersWhereTheyAreSuch) {
  Memory floats = memory<float>(DType::F32, {3.0f, -4.0f, 1.5f, NAN, 3e9f});
  int32_t out[2];
  ASSERT_OK(readElements(floats.tensor, 0, 2, DType::I32, out));
  EXPECT_EQ(out[1], -4);
  expectRefusal(readElements(floats.tensor, 0, 3, DType::I32, out),
                "element 2 is 1.5, which i32 cannot hold");
  expectRefusal(readElements(floats.tensor, 3, 1, DType::I32, out), "is nan");
  expectRefusal(readElements(floats.tensor, 4, 1, DType::I32, out),
                "is 3000000000");
  Memory edge = memory<double>(DType::F64, {0x1p63, -0x1p63});
  int64_t wide[2];
  expectRefusal(readElements(edge.tensor, 0, 1, DType::I64, wide),
                "which i64 cannot hold");
  ASSERT_OK(readElements(edge.tensor, 1, 1, DType::I64, wide));
}

TEST(ReadElements, BoolsAreZeroOrOne) {
  Memory bools = memory<uint8_t>(DType::Bool, {0, 1, 255});
  EXPECT_EQ(readAll<float>(bools, DType::F32), (std::vector<float>{0, 1, 1}));
  EXPECT_EQ(readAll<uint8_t>(bools, DType::Bool),
            (std::vector<uint8_t>{0, 1, 1}));
  uint8_t out[2];
  Memory twos = memory<int32_t>(DType::I32, {1, 2});
  expectRefusal(readElements(twos.tensor, 0, 2, DType::Bool, out),
                "element 1 is 2, which i1 cannot hold");
}

TEST(ReadElements, NamesTheElementInLongTensors) {
  std::vector<int32_t> values(5000, 7);
  values[4321] = 300;
  std::vector<uint8_t> out(values.size());
  expectRefusal(readElements(memory(DType::I32, values).tensor, 10, 4990,
                             DType::U8, out.data()),
                "element 4321 is 300");
}

TEST(ReadElements, RefusesRangesOutside) {
  Memory floats = memory<float>(DType::F32, {1, 2, 3});
  float out[4];
  ASSERT_OK(readElements(floats.tensor, 3, 0, DType::F32, out));
  expectRefusal(readElements(floats.tensor, 0, 4, DType::F32, out),
                "are not among its 3");
  expectRefusal(readElements(floats.tensor, ~0ull, 2, DType::F32, out),
                "are not among its 3");
}

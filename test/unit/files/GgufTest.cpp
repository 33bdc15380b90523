#include "runtime/files/Gguf.h"

#include "test/unit/files/TestFiles.h"

#include <functional>

using namespace tandem;
using namespace tandem::test;

namespace {

/// Numbers of a GGUF file's parts, to be falsified one at a time.
struct Parts {
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t tensorCount = 2, valueCount = 0;
  Bytes metadata;
  std::string secondName = "b";
  uint32_t dimensions = 2;
  uint64_t inner = 4, outer = 3, secondOffset = 64;
  uint32_t secondType = 0;
  uint64_t dataBytes = 112;
  size_t alignment = 32;

  /// Tensors `a` [1, 4] and `b` [3, 4], both F32.
  std::string text() const {
    Bytes bytes;
    bytes.raw(magic).put(version).put(tensorCount).put(valueCount);
    bytes.raw(metadata.text());
    bytes.string("a").put<uint32_t>(2).put<uint64_t>(4).put<uint64_t>(1);
    bytes.put<uint32_t>(0).put<uint64_t>(0);
    bytes.string(secondName).put(dimensions).put(inner).put(outer);
    bytes.put(secondType).put(secondOffset);
    bytes.padTo(alignment).raw(std::string(dataBytes, '\0'));
    return bytes.text();
  }
};

Result<GgufModel> readText(const std::string &text) {
  Folder folder;
  return readGguf(folder.write("m.gguf", text));
}

/// Reads the file after `change`.
Result<GgufModel> readChanged(const std::function<void(Parts &)> &change) {
  Parts parts;
  change(parts);
  return readText(parts.text());
}

/// Reads the file with one metadata value of these bytes.
Result<GgufModel> readWithValue(const Bytes &value, size_t alignment = 32) {
  return readChanged([&](Parts &parts) {
    parts.valueCount = 1;
    parts.metadata = value;
    parts.alignment = alignment;
  });
}

/// A part of a split model with one tensor.
std::string part(uint16_t number, uint16_t count, const std::string &name,
                 int32_t tensors) {
  Bytes bytes;
  bytes.raw("GGUF").put<uint32_t>(3).put<uint64_t>(1).put<uint64_t>(3);
  bytes.string("split.no").put<uint32_t>(2).put(number);
  bytes.string("split.count").put<uint32_t>(2).put(count);
  bytes.string("split.tensors.count").put<uint32_t>(5).put(tensors);
  bytes.string(name).put<uint32_t>(1).put<uint64_t>(8).put<uint32_t>(0);
  bytes.put<uint64_t>(0).padTo(32).raw(std::string(32, 'x'));
  return bytes.text();
}

} // namespace

TEST(Gguf, TurnsShapesRound) {
  Result<GgufModel> model = readChanged([](Parts &) {});
  ASSERT_OK(model);
  const StoredTensor *b = model->tensors.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(b->bytes, 48u);
  EXPECT_EQ(b->offset - model->tensors.find("a")->offset, 64u);
  EXPECT_EQ(b->offset % 32, 0u);
}

TEST(Gguf, ReadsValuesOfEachType) {
  Bytes bytes;
  auto key = [&](const char *name, uint32_t type) -> Bytes & {
    return bytes.string(name).put(type);
  };
  key("u8", 0).put<uint8_t>(200);
  key("i8", 1).put<int8_t>(-5);
  key("u16", 2).put<uint16_t>(60000);
  key("i16", 3).put<int16_t>(-300);
  key("u32", 4).put<uint32_t>(4000000000u);
  key("i32", 5).put<int32_t>(-70000);
  key("f32", 6).put<float>(0.5f);
  key("bool", 7).put<uint8_t>(1);
  key("str", 8).string("text");
  key("arr", 9).put<uint32_t>(5).put<uint64_t>(2);
  bytes.put<int32_t>(1).put<int32_t>(-2);
  key("u64", 10).put<uint64_t>(1ull << 40);
  key("i64", 11).put<int64_t>(-(1ll << 40));
  key("f64", 12).put<double>(0.1);
  key("strings", 9).put<uint32_t>(8).put<uint64_t>(2).string("x").string("");
  Result<GgufModel> model = readChanged([&](Parts &parts) {
    parts.valueCount = 14;
    parts.metadata = bytes;
  });
  ASSERT_OK(model);
  const ConfigNode &values = model->metadata;
  EXPECT_EQ(*values.integer("u8"), 200);
  EXPECT_EQ(*values.integer("i8"), -5);
  EXPECT_EQ(*values.integer("u16"), 60000);
  EXPECT_EQ(*values.integer("i16"), -300);
  EXPECT_EQ(*values.integer("u32"), 4000000000);
  EXPECT_EQ(*values.integer("i32"), -70000);
  EXPECT_EQ(*values.number("f32"), 0.5);
  EXPECT_TRUE(*values.boolean("bool"));
  EXPECT_EQ(*values.string("str"), "text");
  EXPECT_EQ(*values.at("arr")->asIntegers(), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*values.integer("u64"), 1ll << 40);
  EXPECT_EQ(*values.integer("i64"), -(1ll << 40));
  EXPECT_EQ(*values.number("f64"), 0.1);
  EXPECT_EQ(*values.at("strings")->asStrings(),
            (std::vector<std::string>{"x", ""}));
  expectRefusal(values.integer("str"),
                "m.gguf: str: expected an integer, got string \"text\"");
}

TEST(Gguf, RefusesWrongHeaders) {
  expectRefusal(readText(""), "does not start with 'GGUF'");
  expectRefusal(readText("GGUF\3"), "the file ends within the header");
  expectRefusal(readChanged([](Parts &parts) { parts.magic = "GGML"; }),
                "this is no GGUF file");
  expectRefusal(readChanged([](Parts &parts) { parts.version = 1; }),
                "GGUF version 1 is not supported; supported are 2 and 3");
  expectRefusal(readChanged([](Parts &parts) { parts.version = 3u << 24; }),
                "the file is big-endian");
  expectRefusal(
      readChanged([](Parts &parts) { parts.tensorCount = 1ull << 60; }),
      "1152921504606846976 tensors, which cannot be in the");
  expectRefusal(readChanged([](Parts &parts) { parts.valueCount = ~0ull; }),
                "the header claims 18446744073709551615 metadata values");
}

TEST(Gguf, RefusesAFileCutAnywhere) {
  std::string whole = Parts().text();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(readText(whole.substr(0, size)).ok()) << size;
  expectRefusal(readText(whole.substr(0, 80)),
                "the file ends within tensor 'b', at byte 80");
}

TEST(Gguf, RefusesWrongTensors) {
  expectRefusal(readChanged([](Parts &parts) { parts.secondType = 16; }),
                "tensor 'b': the type IQ2_XXS is not supported");
  expectRefusal(readChanged([](Parts &parts) { parts.secondType = 99; }),
                "tensor 'b': unknown type 99");
  expectRefusal(readChanged([](Parts &parts) { parts.secondType = 8; }),
                "rows of shape [3, 4] are not whole blocks of 32 Q8_0 values");
  expectRefusal(readChanged([](Parts &parts) { parts.secondOffset = 52; }),
                "its offset 52 is no multiple of the file's alignment, 32");
  expectRefusal(readChanged([](Parts &parts) { parts.secondOffset = 96; }),
                "reaches past the end of the file");
  expectRefusal(readChanged([](Parts &parts) { parts.secondOffset = ~31ull; }),
                "passes the end of the file");
  expectRefusal(readChanged([](Parts &parts) { parts.secondOffset = 0; }),
                "overlap those of 'a'");
  expectRefusal(readChanged([](Parts &parts) { parts.outer = 0; }),
                "tensor 'b': dimension 1 has size 0");
  expectRefusal(readChanged([](Parts &parts) { parts.inner = 1ull << 63; }),
                "tensor 'b': dimension 0 has size 9223372036854775808");
  expectRefusal(
      readChanged([](Parts &parts) { parts.inner = parts.outer = 1ull << 40; }),
      "has too many elements");
  expectRefusal(readChanged([](Parts &parts) { parts.dimensions = 77; }),
                "tensor 'b': it claims 77 dimensions");
  expectRefusal(readChanged([](Parts &parts) { parts.secondName = "a"; }),
                "tensor 'a': it is there twice");
  expectRefusal(readChanged([](Parts &parts) { parts.secondName = "\xc3("; }),
                "the name is not UTF-8 at its byte 0");
}

TEST(Gguf, RefusesWrongMetadata) {
  expectRefusal(readWithValue(Bytes().string("k").put<uint32_t>(13)),
                "k: unknown value type 13");
  expectRefusal(readWithValue(Bytes().string("k").put<uint32_t>(8).put(~0ull)),
                "k: a text claims 18446744073709551615 bytes");
  expectRefusal(
      readWithValue(
          Bytes().string("k").put<uint32_t>(9).put<uint32_t>(4).put<uint64_t>(
              1ull << 50)),
      "k: an array claims 1125899906842624 elements");
  expectRefusal(
      readWithValue(
          Bytes().string("k").put<uint32_t>(9).put<uint32_t>(42).put<uint64_t>(
              1)),
      "k: unknown type 42 of an array's elements");
  expectRefusal(readWithValue(Bytes().put<uint64_t>(1 << 30)),
                "metadata key 0: a text claims 1073741824 bytes");
  expectRefusal(readWithValue(Bytes().string("")), "metadata key 0: it is "
                                                   "empty or not UTF-8");
  expectRefusal(readChanged([](Parts &parts) {
                  parts.valueCount = 2;
                  for (int i = 0; i < 2; ++i)
                    parts.metadata.string("k").put<uint32_t>(0).put<uint8_t>(1);
                }),
                "the metadata key 'k' is there twice");
  Bytes nested;
  nested.string("k").put<uint32_t>(9);
  for (int i = 0; i < 50; ++i)
    nested.put<uint32_t>(9).put<uint64_t>(1);
  expectRefusal(readWithValue(nested), "arrays are nested more than 4 deep");
}

TEST(Gguf, ObeysAlignment) {
  auto aligned = [](uint32_t value) {
    return Bytes().string("general.alignment").put<uint32_t>(4).put(value);
  };
  Result<GgufModel> model = readWithValue(aligned(64), 64);
  ASSERT_OK(model);
  EXPECT_EQ(model->tensors.find("a")->offset % 64, 0u);
  for (uint32_t wrong : {0u, 1u, 48u, 1u << 30})
    expectRefusal(readWithValue(aligned(wrong)),
                  "general.alignment: expected a power of two");
  expectRefusal(readWithValue(aligned(128), 128),
                "its offset 64 is no multiple of the file's alignment, 128");
}

TEST(Gguf, ReadsSplitModelsFromTheFirst) {
  Folder folder;
  std::string first = folder.write("m-00001-of-00002.gguf", part(0, 2, "a", 2));
  expectRefusal(readGguf(first), "part 2 of 2: cannot open");
  std::string second =
      folder.write("m-00002-of-00002.gguf", part(1, 2, "b", 2));
  Result<GgufModel> model = readGguf(first);
  ASSERT_OK(model);
  EXPECT_EQ(model->tensors.files().size(), 2u);
  EXPECT_EQ(model->tensors.find("b")->fileIndex, 1);
  expectRefusal(readGguf(second), "this is part 2 of 2 of a split model");
  folder.write("m-00002-of-00002.gguf", part(1, 3, "b", 2));
  expectRefusal(readGguf(first), "expected part 2 of 2, got part 2 of 3");
  folder.write("m-00002-of-00002.gguf", part(1, 2, "a", 2));
  expectRefusal(readGguf(first), "tensor 'a': it is in '");
  folder.write("m-00002-of-00002.gguf", part(1, 2, "b", 2));
  folder.write("m-00001-of-00002.gguf", part(0, 2, "a", 5));
  expectRefusal(readGguf(first), "split.tensors.count is 5, but the parts "
                                 "hold 2 tensors");
  expectRefusal(readGguf(folder.write("n.gguf", part(0, 2, "a", 2))),
                "should end in '-00001-of-00002.gguf'");
  expectRefusal(readGguf(folder.write("n.gguf", part(7, 2, "a", 2))),
                "is no part of a split model");
}

TEST(Gguf, ReadsTheTrainedModel) {
  TANDEM_ASSET_OR_SKIP(path, "stories260k/stories260k-q8_0.gguf");
  Result<GgufModel> model = readGguf(path);
  ASSERT_OK(model);
  EXPECT_EQ(model->tensors.tensors().size(), 47u);
  EXPECT_EQ(*model->metadata.integer("llama.block_count"), 5);
  const StoredTensor *embedding = model->tensors.find("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->dtype, DType::Q8_0);
  EXPECT_EQ(embedding->shape, (std::vector<int64_t>{512, 64}));
}

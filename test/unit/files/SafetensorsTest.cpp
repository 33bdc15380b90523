#include "runtime/files/Safetensors.h"

#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

const char *oneTensor =
    R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

/// Reads a file with this header and `dataBytes` bytes behind it.
Result<TensorStore> readHeader(const std::string &header, size_t dataBytes) {
  Folder folder;
  return readSafetensors(
      folder.write("t.safetensors", safetensors(header, dataBytes)));
}

} // namespace

TEST(Safetensors, ReadsNamesShapesAndMetadata) {
  Folder folder;
  std::string header = R"({"__metadata__":{"format":"pt"},)"
                       R"("z":{"dtype":"BF16","shape":[4],)"
                       R"("data_offsets":[24,32]},)"
                       R"("a":{"dtype":"F32","shape":[2,3],)"
                       R"("data_offsets":[0,24]},)"
                       R"("s":{"dtype":"I64","shape":[],)"
                       R"("data_offsets":[32,40]},)"
                       R"("none":{"dtype":"F32","shape":[0,5],)"
                       R"("data_offsets":[40,40]}})";
  std::string path = folder.write("t.safetensors", safetensors(header, 40));
  std::map<std::string, std::string> metadata;
  Result<TensorStore> store = readSafetensors(path, &metadata);
  ASSERT_OK(store);
  EXPECT_EQ(metadata.at("format"), "pt");
  ASSERT_EQ(store->tensors().size(), 4u);
  EXPECT_EQ(store->tensors()[0].name, "a");
  EXPECT_EQ(store->tensors()[3].name, "z");
  const StoredTensor *z = store->find("z");
  ASSERT_NE(z, nullptr);
  EXPECT_EQ(z->dtype, DType::BF16);
  EXPECT_EQ(z->bytes, 8u);
  EXPECT_EQ(z->offset, 8 + header.size() + 24);
  EXPECT_EQ(store->find("s")->elements(), 1u);
  EXPECT_EQ(store->find("none")->elements(), 0u);
  EXPECT_EQ(store->find("b"), nullptr);
  EXPECT_EQ(store->files()[0].name, "t.safetensors");
  EXPECT_EQ(store->files()[0].fingerprint.size, 48 + header.size());
}

TEST(Safetensors, RefusesALyingSize) {
  Folder folder;
  expectRefusal(readSafetensors(folder.write("a", "abc")), "only 3 bytes");
  expectRefusal(readSafetensors(folder.write("b", "")), "only 0 bytes");
  std::string whole = safetensors(oneTensor, 24);
  expectRefusal(readSafetensors(folder.write("c", whole.substr(0, 30))),
                "but only 22 follow; the file is cut short");
  std::string huge = whole;
  huge[7] = '\x7f';
  expectRefusal(readSafetensors(folder.write("d", huge)),
                "more than the 100000000 that are allowed");
  expectRefusal(readSafetensors(folder.write("e", safetensors("[]", 0))),
                "the header does not start with '{'");
  expectRefusal(readSafetensors(folder / "missing"),
                "No such file or directory");
  expectRefusal(readSafetensors(folder.path()), "it is a folder");
}

TEST(Safetensors, RefusesBrokenJson) {
  expectRefusal(readHeader(R"({"a":)", 0), "not valid JSON at line 1");
  expectRefusal(readHeader("{\"\xff\":1}", 0), "not valid JSON");
  expectRefusal(readHeader(R"({"a":{"dtype":"F32","shape":[1],)"
                           R"("data_offsets":[0,4]},)"
                           R"("a":{"dtype":"F32","shape":[1],)"
                           R"("data_offsets":[0,4]}})",
                           4),
                "the key 'a' stands twice in one object");
  std::string deep = "{\"a\":" + std::string(5000, '[');
  expectRefusal(readHeader(deep, 0), "nested more than 100 levels deep");
}

TEST(Safetensors, RefusesWrongEntries) {
  auto entry = [](const std::string &fields) {
    return readHeader("{\"a\":{" + fields + "}}", 8);
  };
  expectRefusal(readHeader(R"({"a":3})", 0), "a: expected an object, got "
                                             "number 3");
  expectRefusal(entry(R"("shape":[2],"data_offsets":[0,8])"),
                "a: the key 'dtype' is missing");
  expectRefusal(entry(R"("dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8])"),
                "the dtype string \"F8_E4M3\" is not supported");
  expectRefusal(entry(R"("dtype":"F32","shape":"2","data_offsets":[0,8])"),
                "a.shape: expected an array, got string \"2\"");
  expectRefusal(entry(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"),
                "a.shape[0]: expected an integer, got number 2.5");
  expectRefusal(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
                "the shape [-2] is negative or has too many elements");
  expectRefusal(entry(R"("dtype":"F32","shape":[4611686018427387904,8],)"
                      R"("data_offsets":[0,8])"),
                "has too many elements");
  expectRefusal(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8])"),
                "a.data_offsets: expected two byte offsets");
  expectRefusal(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"),
                "a.data_offsets: expected two byte offsets");
  expectRefusal(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
                "data_offsets hold 4 bytes, but dtype and shape [2] need 8");
  expectRefusal(entry(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"),
                "reaches past the end of the file");
  expectRefusal(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"),
                "it begins at 4 of the data, but the one before it ends at 0");
  expectRefusal(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"),
                "4 bytes at the end belong to no tensor");
  expectRefusal(readHeader(R"({"":{"dtype":"U8","shape":[1],)"
                           R"("data_offsets":[0,1]}})",
                           1),
                "the name is empty");
  expectRefusal(readHeader(R"({"__metadata__":{"a":1}})", 0),
                "__metadata__.a: expected a string, got number 1");
}

TEST(Safetensors, RefusesOverlap) {
  expectRefusal(readHeader(R"({"a":{"dtype":"F32","shape":[2],)"
                           R"("data_offsets":[0,8]},)"
                           R"("b":{"dtype":"F32","shape":[2],)"
                           R"("data_offsets":[4,12]}})",
                           12),
                "overlap those of 'a'");
}

TEST(SafetensorsDirectory, ReadsShardsByTheirIndex) {
  TANDEM_ASSET_OR_SKIP(path, "models/llama-tied-odd");
  Result<TensorStore> store = readSafetensorsDirectory(path);
  ASSERT_OK(store);
  EXPECT_EQ(store->files().size(), 4u);
  EXPECT_NE(store->find("model.embed_tokens.weight"), nullptr);
}

TEST(SafetensorsDirectory, RefusesAWrongIndex) {
  Folder folder;
  EXPECT_TRUE(readSafetensorsDirectory(folder.path())->files().empty());
  auto index = [&](const std::string &map) {
    folder.write("model.safetensors.index.json", map);
    return readSafetensorsDirectory(folder.path());
  };
  folder.write("s.safetensors", safetensors(oneTensor, 24));
  folder.write("t.safetensors", safetensors(oneTensor, 24));
  ASSERT_OK(index(R"({"weight_map":{"a":"s.safetensors"}})"));
  expectRefusal(index(R"({})"), "the key 'weight_map' is missing");
  expectRefusal(index(R"({"weight_map":{"a":"../s.safetensors"}})"),
                "is no file name of this folder");
  expectRefusal(index(R"({"weight_map":{"a":"u.safetensors"}})"),
                "index.json: cannot open");
  expectRefusal(index(R"({"weight_map":{"b":"s.safetensors"}})"),
                "tensor 'b' should be in 's.safetensors', which does not "
                "hold it");
  expectRefusal(
      index(R"({"weight_map":{"a":"s.safetensors","b":"t.safetensors"}})"),
      "tensor 'a': it is in '");
}

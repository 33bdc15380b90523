#include "runtime/files/SafetensorsWriter.h"

#include "runtime/files/ReadElements.h"
#include "runtime/files/Safetensors.h"
#include "test/unit/files/TestFiles.h"

#include <cstring>

using namespace tandem;
using namespace tandem::test;

namespace {

/// How many files lie in `folder`.
size_t countFiles(const Folder &folder) {
  std::filesystem::directory_iterator it(folder.path()), end;
  return static_cast<size_t>(std::distance(it, end));
}

} // namespace

TEST(SafetensorsWriter, WritesWhatTheReaderReads) {
  Folder folder;
  float a[] = {1, 2, 3, 4, 5, 6};
  int64_t b[] = {-7, 8};
  uint8_t c = 1;
  std::string path = folder / "out.safetensors";
  ASSERT_OK(writeSafetensors(path,
                             {{{"c", DType::Bool, {}}, &c},
                              {{"a \"quoted\" ü", DType::F32, {2, 3}}, a},
                              {{"none", DType::BF16, {0}}, nullptr},
                              {{"b", DType::I64, {2}}, b}},
                             {{"about", "{\"x\": 1}"}}));
  std::map<std::string, std::string> metadata;
  Result<TensorStore> store = readSafetensors(path, &metadata);
  ASSERT_OK(store);
  EXPECT_EQ(metadata.at("about"), "{\"x\": 1}");
  EXPECT_EQ(countFiles(folder), 1u);
  const StoredTensor *tensor = store->find("a \"quoted\" ü");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(tensor->data, a, sizeof a), 0);
  EXPECT_EQ(std::memcmp(store->find("b")->data, b, sizeof b), 0);
  for (const StoredTensor &each : store->tensors())
    EXPECT_EQ(each.offset % static_cast<uint64_t>(blockBytes(each.dtype)), 0u);
}

TEST(SafetensorsWriter, GivesTheSameBytesInAnyOrder) {
  Folder folder;
  float a[] = {1, 2}, b[] = {3};
  TensorToWrite x{{"x", DType::F32, {2}}, a}, y{{"y", DType::F32, {1}}, b};
  ASSERT_OK(writeSafetensors(folder / "1", {x, y}));
  ASSERT_OK(writeSafetensors(folder / "2", {y, x}));
  EXPECT_EQ(readWhole(folder / "1"), readWhole(folder / "2"));
}

TEST(SafetensorsWriter, ShowsNoFileBeforeItIsComplete) {
  Folder folder;
  std::string path = folder.write("out", "the old one");
  {
    auto writer = SafetensorsWriter::create(path, {{"a", DType::F32, {2}}});
    ASSERT_OK(writer);
    float values[] = {1, 2};
    ASSERT_OK(writer->write("a", 4, &values[1], 4));
    EXPECT_EQ(readWhole(path), "the old one");
    expectRefusal(writer->commit(),
                  "tensor 'a' has 8 bytes, but 4 were written");
    expectRefusal(writer->write("a", 8, values, 1), "has 8 bytes, not 1 at");
    expectRefusal(writer->write("b", 0, values, 1), "was not declared");
    EXPECT_EQ(countFiles(folder), 2u);
  }
  EXPECT_EQ(readWhole(path), "the old one");
  EXPECT_EQ(countFiles(folder), 1u);
}

TEST(SafetensorsWriter, RefusesWhatTheFormatHasNot) {
  Folder folder;
  auto create = [&](const TensorHeader &header) {
    return SafetensorsWriter::create(folder / "x", {header});
  };
  expectRefusal(create({"q", DType::Q8_0, {32}}),
                "the type Q8_0 cannot be written to safetensors");
  expectRefusal(create({"\xff", DType::F32, {1}}), "cannot name a tensor");
  expectRefusal(create({"__metadata__", DType::F32, {1}}),
                "cannot name a tensor");
  expectRefusal(create({"n", DType::F32, {-1}}), "the shape [-1] cannot be");
  expectRefusal(
      SafetensorsWriter::create(
          folder / "x", {{"a", DType::F32, {1}}, {"a", DType::F32, {1}}}),
      "tensor 'a': it is there twice");
  EXPECT_EQ(countFiles(folder), 0u);
}

TEST(NewFile, SaysWhereItCannotWrite) {
  Folder folder;
  expectRefusal(NewFile::create(folder / "missing/x"),
                "missing/x': No such file or directory");
  expectRefusal(NewFile::create(folder.path()), "it is a folder");
}

TEST(NewFile, ReportsAFullDisk) {
  Result<NewFile> file = NewFile::create("/dev/full");
  ASSERT_OK(file);
  expectRefusal(file->write("text"),
                "cannot write '/dev/full': No space left on device");
}

TEST(NewFile, FollowsLinksAndKeepsThem) {
  Folder folder;
  folder.write("target", "old");
  std::filesystem::create_symlink(folder / "target", folder / "link");
  Result<NewFile> file = NewFile::create(folder / "link");
  ASSERT_OK(file);
  ASSERT_OK(file->write("new"));
  ASSERT_OK(file->commit());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(readWhole(folder / "target"), "new");
}

#include "runtime/session/TrainingData.h"
#include "runtime/files/SafetensorsWriter.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <unistd.h>

namespace tandem {
namespace {

/// Data in a folder of its own, for a model of 300 ids without a tokenizer.
class TrainingDataTest : public testing::Test {
protected:
  TrainingDataTest() {
    folder = std::filesystem::temp_directory_path() /
             ("tandem-data-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
    request.stream.vocabulary = 300;
    request.rows = 2;
    request.sequence = 4;
  }
  ~TrainingDataTest() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &name, const std::string &bytes) {
    std::filesystem::path path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  template <typename Id>
  std::string writeIds(const std::string &name, const std::vector<Id> &ids) {
    return write(name, {reinterpret_cast<const char *>(ids.data()),
                        ids.size() * sizeof(Id)});
  }
  template <typename Id> static std::vector<Id> counting(int64_t count) {
    std::vector<Id> ids(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), Id(0));
    return ids;
  }

  std::unique_ptr<TrainingData> open(const std::string &path) {
    request.path = path;
    auto data = openTrainingData(request);
    EXPECT_TRUE(data.ok()) << data.status().message();
    return data.ok() ? std::move(*data) : nullptr;
  }
  std::string refusal(const std::string &path) {
    request.path = path;
    auto data = openTrainingData(request);
    return data.ok() ? "" : data.status().message();
  }
  static std::vector<int32_t> list(const HostTensor &tensor) {
    return {tensor.as<int32_t>(), tensor.as<int32_t>() + tensor.elements()};
  }

  std::filesystem::path folder;
  DataRequest request;
};

TEST_F(TrainingDataTest, RowsAreTheOrdersWindows) {
  auto data = open(writeIds("ids.bin", counting<uint16_t>(42)));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->windows(), 10);
  EXPECT_EQ(data->summary(),
            "42 tokens, 10 windows of 4 + 1; 1 tokens at the end are less "
            "than a window and left out");
  // The order of ten windows by seed 0 is 3, 9, 8, 1, ... (expected.py).
  HostTensors rows = *data->rowsFrom(0);
  EXPECT_EQ(rows.at("input_ids").shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(list(rows.at("input_ids")),
            (std::vector<int32_t>{12, 13, 14, 15, 36, 37, 38, 39}));
  EXPECT_EQ(rows.at("labels").shape, (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(list(rows.at("labels")),
            (std::vector<int32_t>{12, 13, 14, 15, 16, 36, 37, 38, 39, 40}));
  EXPECT_EQ(list(data->rowsFrom(2)->at("input_ids")),
            (std::vector<int32_t>{32, 33, 34, 35, 4, 5, 6, 7}));
  // The second epoch's begins with 6, 9.
  EXPECT_EQ(list(data->rowsFrom(10)->at("input_ids")),
            (std::vector<int32_t>{24, 25, 26, 27, 36, 37, 38, 39}));
}

TEST_F(TrainingDataTest, LabelsMayBeTheIdsAlone) {
  request.labelsBehind = false;
  auto data = open(writeIds("ids.bin", counting<uint16_t>(41)));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->summary(), "41 tokens, 10 windows of 4 + 1");
  HostTensors rows = *data->rowsFrom(0);
  EXPECT_EQ(list(rows.at("labels")), list(rows.at("input_ids")));
}

TEST_F(TrainingDataTest, TextWithoutATokenizerIsBytes) {
  request.rows = 1;
  auto data = open(write("text.txt", "abcd\xff"));
  ASSERT_TRUE(data);
  EXPECT_EQ(list(data->rowsFrom(0)->at("labels")),
            (std::vector<int32_t>{97, 98, 99, 100, 255}));
}

TEST_F(TrainingDataTest, TypesComeFromFlagOrVocabulary) {
  std::string path = writeIds("ids.bin", counting<uint32_t>(5));
  request.rows = 1;
  request.stream.type = DataType::Uint32;
  EXPECT_EQ(list(open(path)->rowsFrom(0)->at("labels")),
            (std::vector<int32_t>{0, 1, 2, 3, 4}));
  request.stream.type.reset();
  request.stream.vocabulary = 70000;
  EXPECT_EQ(list(open(path)->rowsFrom(0)->at("labels")),
            (std::vector<int32_t>{0, 1, 2, 3, 4}));
  request.stream.type = DataType::Text;
  EXPECT_EQ(list(open(path)->rowsFrom(0)->at("labels")).size(), 5u);
}

TEST_F(TrainingDataTest, FoldersAreReadInNameOrder) {
  writeIds<uint16_t>("corpus/b.bin", {4, 5});
  writeIds<uint16_t>("corpus/a.bin", {1, 2, 3});
  write("corpus/.hidden.bin", "x");
  write("corpus/notes.md", "x");
  writeIds<uint16_t>("corpus/empty.bin", {});
  request.rows = 1;
  auto data = open(folder / "corpus");
  ASSERT_TRUE(data);
  EXPECT_EQ(list(data->rowsFrom(0)->at("labels")),
            (std::vector<int32_t>{1, 2, 3, 4, 5}));
}

TEST_F(TrainingDataTest, AnIdOutsideIsNamedByItsOffset) {
  std::string path = writeIds<uint16_t>("ids.bin", {1, 2, 3, 300, 4});
  EXPECT_EQ(open(path)->rowsFrom(0).status().message(),
            "'" + path +
                "': the id at byte 6 is 300, outside the vocabulary of 300; "
                "is the data another model's, or its --data-type another?");
  request.stream.vocabulary = 100;
  path = write("text.txt", "Hello");
  EXPECT_NE(open(path)->rowsFrom(0).status().message().find(
                "the id at byte 1 is 101, outside"),
            std::string::npos);
}

TEST_F(TrainingDataTest, ABatchIsTheSameEveryStep) {
  std::vector<int64_t> ids = {1, 2, 3, 4, 5, 6}, labels(6, -100);
  std::string path = folder / "batch.safetensors";
  Status written =
      writeSafetensors(path, {{{"input_ids", DType::I64, {2, 3}}, ids.data()},
                              {{"labels", DType::I64, {2, 3}}, labels.data()},
                              {{"logits", DType::I64, {6}}, ids.data()}});
  ASSERT_TRUE(written.ok());
  auto data = open(path);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->windows(), 0);
  EXPECT_EQ(data->summary(), "one batch of [2, 3] ids, the same every step");
  for (int64_t window : {0, 2}) {
    HostTensors rows = *data->rowsFrom(window);
    EXPECT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows.at("input_ids").as<int64_t>()[5], 6);
  }
  Status other =
      writeSafetensors(path, {{{"input_ids", DType::I64, {2, 3}}, ids.data()}});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(refusal(path), "'" + path +
                               "' holds no tensor 'labels'; a batch to learn "
                               "from needs input_ids and labels");
}

TEST_F(TrainingDataTest, RefusesWhatIsNoData) {
  EXPECT_NE(refusal(folder / "missing.bin").find("missing.bin"),
            std::string::npos);
  EXPECT_NE(refusal(write("data.csv", "1,2"))
                .find("say what it holds by --data-type text, uint16 or "
                      "uint32"),
            std::string::npos);
  EXPECT_NE(refusal(write("odd.bin", "123"))
                .find("has 3 bytes, no whole number of ids of 2 bytes"),
            std::string::npos);
  std::string empty = folder / "empty";
  std::filesystem::create_directories(empty);
  EXPECT_NE(refusal(empty).find("holds no data"), std::string::npos);
  EXPECT_NE(refusal(writeIds("short.bin", counting<uint16_t>(4)))
                .find("has 4 tokens, less than a window of 4 + 1"),
            std::string::npos);
}

} // namespace
} // namespace tandem

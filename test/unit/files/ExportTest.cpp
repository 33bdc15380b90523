#include "runtime/files/checkpoint/Export.h"

#include "runtime/files/ReadElements.h"
#include "runtime/files/Safetensors.h"
#include "test/unit/files/CheckpointSketch.h"
#include "test/unit/files/TestFiles.h"

#include <map>

namespace tandem {
namespace {

namespace fs = std::filesystem;
using test::Folder;

/// A checkpoint of a model of two stored tensors:
///   fused [2, 4] bf16: `fused` its columns 0-1 transposed, `fused#2` 2-3
///   tied  [3] f32, viewed twice
/// and one that no parameter views, `pooler` [2] f32 in the model's file.
class ExportTest : public testing::Test {
protected:
  void SetUp() override {
    fs::create_directories(model);
    float fused[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    float pooler[2] = {0.5, 0.25};
    ASSERT_OK(writeSafetensors(model + "/model.safetensors",
                               {{{"old", DType::F32, {2, 4}}, fused},
                                {{"pooler", DType::F32, {2}}, pooler}}));
    folder.write("model/tokenizer.json", "{}");
    fs::create_directories(path);
    manifest = test::sketchManifest(9);
    manifest.model = model;
    manifest.config = {{"model_type", "test"}};
    auto view = [](std::vector<int64_t> shape, uint64_t offset,
                   std::vector<int64_t> strides) {
      return CheckpointTensor{
          "", DType::F32, shape,
          StoredPlace{"fused", DType::BF16, {2, 4}, offset, strides}};
    };
    manifest.tensors = {view({2, 2}, 0, {1, 4}), view({2, 2}, 2, {4, 1})};
    manifest.tensors[0].name = "fused";
    manifest.tensors[1].name = "fused#2";
    manifest.tensors.push_back({"tied",
                                DType::F32,
                                {3},
                                StoredPlace{"tied", DType::F32, {3}, 0, {1}}});
    manifest.tensors.push_back({"exp_avg.tied", DType::F32, {3}, {}});
    auto first = test::writeShard(realDisk(), path, "rank-0.safetensors",
                                  {{"fused", {{0, 0}, {1, 2}}, {0, 4}},
                                   {"fused#2", {{0, 0}, {2, 2}}, {2, 3, 6, 7}},
                                   {"tied", {{0}, {1}}, {10}}});
    auto second = test::writeShard(realDisk(), path, "rank-1.safetensors",
                                   {{"fused", {{1, 0}, {1, 2}}, {1, 5}},
                                    {"tied", {{1}, {2}}, {11, 12}},
                                    {"exp_avg.tied", {{0}, {3}}, {0, 0, 0}}});
    ASSERT_OK(first);
    ASSERT_OK(second);
    manifest.shards = {*first, *second};
  }

  /// Adds the model's file as a source.
  void addSource() {
    auto store = readSafetensors(model + "/model.safetensors");
    ASSERT_OK(store);
    manifest.sources.push_back(
        {model + "/model.safetensors", store->files()[0].fingerprint});
  }
  Result<ExportReport> run(uint64_t bytesPerFile = 1'000'000) {
    folder.write("step-9/manifest.json", manifest.toText());
    auto checkpoint = Checkpoint::open(path);
    if (!checkpoint.ok())
      return checkpoint.status();
    return exportCheckpoint(**checkpoint, target, {bytesPerFile});
  }
  std::vector<float> exported(const std::string &name, DType dtype,
                              std::vector<int64_t> shape) {
    auto store = readSafetensorsDirectory(target);
    EXPECT_TRUE(store.ok()) << store.status().message();
    const StoredTensor *tensor = store->find(name);
    if (!tensor || tensor->dtype != dtype || tensor->shape != shape)
      return {};
    std::vector<float> values(tensor->elements());
    EXPECT_TRUE(
        readElements(*tensor, 0, values.size(), DType::F32, values.data())
            .ok());
    return values;
  }

  Folder folder;
  std::string model = folder / "model", path = folder / "step-9";
  std::string target = folder / "exported";
  CheckpointManifest manifest;
};

TEST_F(ExportTest, StoredTensorsAreWholeAgain) {
  addSource();
  auto report = run();
  ASSERT_OK(report);
  EXPECT_EQ(exported("fused", DType::BF16, {2, 4}),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(exported("tied", DType::F32, {3}),
            (std::vector<float>{10, 11, 12}));
  EXPECT_EQ(exported("pooler", DType::F32, {2}),
            (std::vector<float>{0.5, 0.25}));
  EXPECT_EQ(report->tensors, 4); // `old` too, and no optimizer state.
  EXPECT_TRUE(report->missing.empty());
  EXPECT_EQ(report->files,
            (std::vector<std::string>{"model.safetensors", "config.json",
                                      "tokenizer.json"}));
  std::map<std::string, std::string> metadata;
  ASSERT_OK(readSafetensors(target + "/model.safetensors", &metadata));
  EXPECT_EQ(metadata["format"], "pt");
  EXPECT_EQ(test::readWhole(target + "/config.json"),
            "{\n  \"model_type\": \"test\"\n}\n");
}

TEST_F(ExportTest, LargeModelsHaveAnIndex) {
  fs::create_directories(target); // An empty one may be there.
  auto report = run(20);
  ASSERT_OK(report);
  EXPECT_EQ(report->files[0], "model-00001-of-00002.safetensors");
  EXPECT_EQ(report->files[2], "model.safetensors.index.json");
  EXPECT_EQ(exported("fused", DType::BF16, {2, 4}).size(), 8u);
  EXPECT_EQ(exported("tied", DType::F32, {3}).size(), 3u);
  EXPECT_NE(test::readWhole(target + "/model.safetensors.index.json")
                .find("\"total_size\": 28"),
            std::string::npos);
}

TEST_F(ExportTest, AViewOfAPartNeedsTheRest) {
  manifest.tensors.erase(manifest.tensors.begin() + 1);
  manifest.shards[0].pieces.erase(manifest.shards[0].pieces.begin() + 1);
  test::expectRefusal(run(), "rank-0.safetensors: it holds 3 tensors");
  auto shard = test::writeShard(
      realDisk(), path, "rank-0.safetensors",
      {{"fused", {{0, 0}, {1, 2}}, {0, 4}}, {"tied", {{0}, {1}}, {10}}});
  ASSERT_OK(shard);
  manifest.shards[0] = *shard;
  test::expectRefusal(run(), "tensor 'fused': the checkpoint holds 4 of its 8 "
                             "elements");
  EXPECT_FALSE(fs::exists(target));
}

TEST_F(ExportTest, FilesThatAreGoneAreNamed) {
  addSource();
  manifest.tokenizer.push_back({model + "/vocab.json", {}});
  fs::remove(model + "/model.safetensors");
  auto report = run();
  ASSERT_OK(report);
  ASSERT_EQ(report->missing.size(), 2u);
  EXPECT_NE(report->missing[0].find("model.safetensors"), std::string::npos);
  EXPECT_EQ(report->missing[1], "'" + model + "/vocab.json'");
}

TEST_F(ExportTest, RefusesWhatItMustNotWrite) {
  fs::create_directories(target);
  folder.write("exported/mine", "");
  test::expectRefusal(run(), "it is there and not empty");
  fs::remove_all(target);
  manifest.config = nullptr;
  test::expectRefusal(run(), "holds no config.json: its model '" + model +
                                 "' had none");
  manifest.config = nlohmann::ordered_json::object();
  std::string shard = test::readWhole(path + "/rank-0.safetensors");
  shard.back() ^= 4;
  folder.write("step-9/rank-0.safetensors", shard);
  test::expectRefusal(run(), "changed after they were written");
  EXPECT_FALSE(fs::exists(target));
}

} // namespace
} // namespace tandem

#include "runtime/files/Model.h"

#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

TEST(Model, OpensADirectory) {
  TANDEM_ASSET_OR_SKIP(path, "models/stories260k");
  Result<ModelFiles> model = openModel(path + "/");
  ASSERT_OK(model);
  EXPECT_EQ(model->kind, ModelKind::HuggingFace);
  EXPECT_EQ(model->path, path);
  EXPECT_FALSE(model->tensors.empty());
  EXPECT_TRUE(model->tokenizerConfig.has_value());
  EXPECT_EQ(*endIds(*model), std::vector<int64_t>{2});
  EXPECT_EQ(*beginId(*model), std::optional<int64_t>(1));
}

TEST(Model, OpensAGgufFile) {
  TANDEM_ASSET_OR_SKIP(path, "stories260k/stories260k-f32.gguf");
  Result<ModelFiles> model = openModel(path);
  ASSERT_OK(model);
  EXPECT_EQ(model->kind, ModelKind::Gguf);
  EXPECT_EQ(*endIds(*model), std::vector<int64_t>{2});
  EXPECT_EQ(*beginId(*model), std::optional<int64_t>(1));
}

TEST(Model, OpensAConfigurationAlone) {
  TANDEM_ASSET_OR_SKIP(path, "configs/llama-3-405b");
  Result<ModelFiles> model = openModel(path);
  ASSERT_OK(model);
  EXPECT_TRUE(model->tensors.empty());
  EXPECT_EQ(*model->config.integer("num_hidden_layers"), 126);
}

TEST(Model, PrefersTheGenerationConfigForTheEnd) {
  Folder folder;
  folder.write("config.json", R"({"eos_token_id": 5})");
  EXPECT_EQ(*endIds(*openModel(folder.path())), std::vector<int64_t>{5});
  folder.write("generation_config.json", R"({"eos_token_id": [7, 8, 7]})");
  EXPECT_EQ(*endIds(*openModel(folder.path())), (std::vector<int64_t>{7, 8}));
  folder.write("generation_config.json", R"({"eos_token_id": "x"})");
  expectRefusal(endIds(*openModel(folder.path())),
                "generation_config.json: eos_token_id: expected an integer");
}

TEST(Model, FindsAGgufInAFolder) {
  TANDEM_ASSET_OR_SKIP(path, "stories260k/stories260k-q8_0.gguf");
  Folder folder;
  std::filesystem::copy(path, folder / "m.gguf");
  Result<ModelFiles> model = openModel(folder.path());
  ASSERT_OK(model);
  EXPECT_EQ(model->kind, ModelKind::Gguf);
  folder.write("n.gguf", "");
  expectRefusal(openModel(folder.path()),
                "several models are in this folder (m.gguf, n.gguf)");
}

TEST(Model, RefusesWhatIsNoModel) {
  Folder folder;
  expectRefusal(openModel(folder / "missing"), "No such file or directory");
  expectRefusal(openModel(folder.path()), "neither config.json nor a .gguf");
  expectRefusal(openModel(folder.write("m.bin", "")),
                "expected a Hugging Face directory or a .gguf file");
  folder.write("config.json", "{}");
  folder.write("pytorch_model.bin", "");
  expectRefusal(openModel(folder.path()), "convert it to safetensors");
  folder.write("config.json", "[1]");
  expectRefusal(openModel(folder.path()), "config.json: expected an object");
}

// The published vectors of three real tokenizers, and what the trained
// model's ids decode to.

#include "runtime/files/ConfigNode.h"
#include "runtime/files/Json.h"
#include "runtime/files/Tokenizer.h"
#include "test/unit/files/TestFiles.h"

#include <cstdlib>

using namespace tandem;
using namespace tandem::test;

namespace {

using Pointer = std::shared_ptr<const Tokenizer>;

nlohmann::json readJson(const std::string &path) {
  Result<ConfigNode> node = ConfigNode::read(path);
  EXPECT_TRUE(node.ok()) << messageOf(node);
  return node.ok() ? node->value() : nlohmann::json();
}

/// What a stream gives, one id after another; each part must be UTF-8.
std::string streamed(const Tokenizer &tokenizer,
                     const std::vector<int32_t> &ids) {
  StreamDecoder stream(tokenizer);
  std::string text;
  for (int32_t id : ids) {
    std::string part = stream.push(id);
    // parseJson checks UTF-8.
    EXPECT_TRUE(parseJson(nlohmann::json(part).dump(), "part").ok());
    text += part;
  }
  return text + stream.finish();
}

void checkVectors(const std::string &path, const char *group) {
  TANDEM_ASSET_OR_SKIP(vectorsPath, "tokenizers/vectors.json");
  Result<Pointer> tokenizer = openTokenizer(path);
  ASSERT_OK(tokenizer);
  nlohmann::json vectors = readJson(vectorsPath)[group]["vectors"];
  ASSERT_EQ(vectors.size(), 65u);
  for (const nlohmann::json &vector : vectors) {
    std::string text = vector["text"];
    std::vector<int32_t> expected = vector["ids"];
    Result<std::vector<int32_t>> ids = (*tokenizer)->encode(text);
    ASSERT_OK(ids);
    EXPECT_EQ(*ids, expected) << text;
    std::string decoded = vector.value("decoded", text);
    Result<std::string> back = (*tokenizer)->decode(expected);
    ASSERT_OK(back);
    EXPECT_EQ(*back, decoded);
    EXPECT_EQ(streamed(**tokenizer, expected), decoded);
  }
}

/// SmolLM2's GGUF: where TANDEM_SMOLLM2 says, else in the checkout's cache.
std::string smollm2Path() {
  const char *given = std::getenv("TANDEM_SMOLLM2");
  std::string path =
      given ? given : TANDEM_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::exists(path) ? path : "";
}

} // namespace

TEST(TokenizerVectors, Gpt2) {
  TANDEM_ASSET_OR_SKIP(path, "tiny-gpt2-onnx/tokenizer.json");
  checkVectors(path, "gpt2");
}

TEST(TokenizerVectors, Stories260k) {
  TANDEM_ASSET_OR_SKIP(path, "models/stories260k");
  checkVectors(path, "stories260k");
}

TEST(TokenizerVectors, Stories260kFromGguf) {
  TANDEM_ASSET_OR_SKIP(plain, "stories260k/stories260k-f32.gguf");
  TANDEM_ASSET_OR_SKIP(quantised, "stories260k/stories260k-q8_0.gguf");
  checkVectors(plain, "stories260k");
  checkVectors(quantised, "stories260k");
}

TEST(TokenizerVectors, SmolLM2FromGguf) {
  std::string path = smollm2Path();
  if (path.empty())
    GTEST_SKIP() << "SmolLM2's GGUF is missing: neither TANDEM_SMOLLM2 nor "
                    ".cache/models has it";
  checkVectors(path, "smollm2");
}

TEST(TokenizerVectors, MergesAsPairs) {
  TANDEM_ASSET_OR_SKIP(path, "cases/19-merges-as-pairs");
  nlohmann::json right = readJson(path + "/expected.json")["right"];
  for (const char *folder : {"/model", "/strings"}) {
    Result<Pointer> tokenizer = openTokenizer(path + folder);
    ASSERT_OK(tokenizer);
    for (const nlohmann::json &each : right["encode"]) {
      std::vector<int32_t> ids = each["ids"];
      EXPECT_EQ(*(*tokenizer)->encode(each["text"].get<std::string>()), ids);
      EXPECT_EQ(*(*tokenizer)->decode(ids), each["decoded"]);
    }
  }
}

TEST(TokenizerVectors, TrainedModelsGreedyText) {
  TANDEM_ASSET_OR_SKIP(path, "models/stories260k");
  Result<Pointer> tokenizer = openTokenizer(path);
  ASSERT_OK(tokenizer);
  nlohmann::json expected = readJson(path + "/expected.json");
  for (const nlohmann::json &greedy :
       {expected["greedy"], expected["q8_0"]["greedy"]}) {
    std::vector<int32_t> ids = greedy["ids"];
    EXPECT_EQ(*(*tokenizer)->decode(ids), greedy["text"]);
    EXPECT_EQ(*(*tokenizer)->encode(greedy["text"].get<std::string>()), ids);
  }
}

TEST(TokenizerVectors, SettingsComeFromTheModelsFiles) {
  TANDEM_ASSET_OR_SKIP(directory, "models/stories260k");
  TANDEM_ASSET_OR_SKIP(gguf, "stories260k/stories260k-q8_0.gguf");
  for (const std::string &path : {directory, gguf}) {
    Pointer tokenizer = *openTokenizer(path);
    const TokenizerSettings &settings = tokenizer->settings();
    EXPECT_EQ(settings.bosId, std::optional<int32_t>(1));
    EXPECT_EQ(settings.eosIds, std::vector<int32_t>{2});
    EXPECT_TRUE(settings.addsBos);
    EXPECT_FALSE(settings.addsEos);
    EXPECT_FALSE(settings.hasChatTemplate);
    EXPECT_EQ(tokenizer->vocabularySize(), 512);
    EXPECT_EQ(tokenizer->encode("", {true}).status().message(), "");
    EXPECT_EQ(*tokenizer->encode("", {true}), std::vector<int32_t>{1});
    EXPECT_EQ((*tokenizer->encode("Once", {true}))[0], 1);
  }
}

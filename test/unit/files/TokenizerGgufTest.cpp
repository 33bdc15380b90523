// GGUF tokenizers of a few tokens, right and wrong.

#include "runtime/files/Json.h"
#include "runtime/files/Model.h"
#include "runtime/files/Tokenizer.h"
#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;
using Pointer = std::shared_ptr<const Tokenizer>;

/// Scored: <unk>, <s>, </s>, a mark, a, mark a, and the byte of "\n".
json scored() {
  return json::parse(R"({
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "\u2581", "a",
                              "\u2581a", "<0x0A>"],
    "tokenizer.ggml.scores": [0, 0, 0, -2, -3, -1, 0],
    "tokenizer.ggml.token_type": [2, 3, 3, 1, 1, 1, 6],
    "tokenizer.ggml.unknown_token_id": 0,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2})");
}

/// Byte-level: a, b, a space, ab, and <|x|>.
json merged() {
  return json::parse(R"({
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": ["a", "b", "\u0120", "ab", "<|x|>", "1", "11"],
    "tokenizer.ggml.token_type": [1, 1, 1, 1, 3, 1, 1],
    "tokenizer.ggml.merges": ["a b", "1 1"],
    "tokenizer.ggml.bos_token_id": 4})");
}

Result<Pointer> open(const json &metadata) {
  ModelFiles model;
  model.kind = ModelKind::Gguf;
  model.path = "m.gguf";
  model.config = ConfigNode::fromJson(metadata, "m.gguf");
  return openTokenizer(model);
}

Result<Pointer> openWith(json metadata, const std::string &key,
                         const std::string &value) {
  metadata["tokenizer.ggml." + key] = json::parse(value);
  return open(metadata);
}

Ids encode(const Result<Pointer> &tokenizer, const std::string &text,
           bool addSpecial = false) {
  EXPECT_TRUE(tokenizer.ok()) << messageOf(tokenizer);
  return tokenizer.ok() ? *(*tokenizer)->encode(text, {addSpecial}) : Ids();
}

} // namespace

TEST(TokenizerGguf, ReadsScores) {
  Result<Pointer> tokenizer = open(scored());
  EXPECT_EQ(encode(tokenizer, "a a\n", true), (Ids{1, 5, 5, 6}));
  EXPECT_EQ(encode(tokenizer, "a</s>a"), (Ids{5, 2, 5}));
  EXPECT_EQ(*(*tokenizer)->decode({5, 5, 6}), "a a\n");
  EXPECT_EQ((*tokenizer)->settings().eosIds, Ids{2});
  tokenizer = openWith(scored(), "add_space_prefix", "false");
  EXPECT_EQ(encode(tokenizer, "a a"), (Ids{4, 5}));
  EXPECT_EQ(*(*tokenizer)->decode({5, 4}), " aa");
  EXPECT_EQ(encode(openWith(scored(), "add_bos_token", "false"), "a", true),
            (Ids{5}));
}

TEST(TokenizerGguf, ReadsMerges) {
  Result<Pointer> tokenizer = open(merged());
  EXPECT_EQ(encode(tokenizer, "ab a<|x|>11", true), (Ids{3, 2, 0, 4, 6}));
  EXPECT_EQ(*(*tokenizer)->decode({3, 2, 0, 4, 6}), "ab a<|x|>11");
  EXPECT_EQ(encode(openWith(merged(), "add_bos_token", "true"), "a", true),
            (Ids{4, 0}));
}

TEST(TokenizerGguf, PreTokenizersCutDigitsDifferently) {
  auto with = [](const char *name) {
    return encode(openWith(merged(), "pre", json(name).dump()), "ab11");
  };
  EXPECT_EQ(with("gpt-2"), (Ids{3, 6}));
  EXPECT_EQ(with("default"), (Ids{3, 6}));
  EXPECT_EQ(with("smollm"), (Ids{3, 5, 5}));
  EXPECT_EQ(with("qwen2"), (Ids{3, 5, 5}));
  EXPECT_EQ(with("llama-bpe"), (Ids{3, 6}));
  // Llama 3's files leave it to their pre-tokenizer's name that BOS is added.
  EXPECT_EQ(encode(openWith(merged(), "pre", R"("llama-bpe")"), "a", true),
            (Ids{4, 0}));
}

TEST(TokenizerGguf, WarnsOfUnknownPreTokenizers) {
  json unnamed = merged();
  unnamed.erase("tokenizer.ggml.pre");
  testing::internal::CaptureStderr();
  EXPECT_EQ(encode(open(unnamed), "ab11"), (Ids{3, 6}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "m.gguf: no pre-tokenizer is named (tokenizer.ggml.pre); "
                "GPT-2's is used"),
            std::string::npos);
  testing::internal::CaptureStderr();
  EXPECT_EQ(encode(openWith(merged(), "pre", R"("new")"), "ab11"), (Ids{3, 6}));
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "the pre-tokenizer string \"new\" is not known"),
            std::string::npos);
}

TEST(TokenizerGguf, MayBeMissing) {
  Result<Pointer> tokenizer = open(json::object());
  ASSERT_OK(tokenizer);
  EXPECT_EQ(*tokenizer, nullptr);
}

TEST(TokenizerGguf, RefusesWrongMetadata) {
  auto refuse = [](const char *key, const char *value, const char *part) {
    expectRefusal(openWith(scored(), key, value), part);
  };
  refuse("model", R"("t5")", "the tokenizer 't5' is not supported");
  refuse("tokens", "null", "the key 'tokenizer.ggml.tokens' is missing");
  refuse("tokens", "[]", "tokenizer.ggml.tokens: a vocabulary of 0 tokens");
  refuse("tokens", "[1]", "tokens[0]: expected a string, got number 1");
  refuse("token_type", "[1]",
         "tokenizer.ggml.token_type: there are 1 of them for 7 tokens");
  refuse("scores", "[1]",
         "tokenizer.ggml.scores: there are 1 of them for 7 tokens");
  refuse("scores", "null", "the key 'tokenizer.ggml.scores' is missing");
  refuse("bos_token_id", "7",
         "bos_token_id: the id 7 is not in the vocabulary of 7 tokens");
  refuse("eos_token_id", "-3", "eos_token_id: expected an id from 0 to");
  refuse("add_space_prefix", R"("no")", "expected true or false");
  expectRefusal(openWith(merged(), "merges", "null"),
                "the key 'tokenizer.ggml.merges' is missing");
  expectRefusal(openWith(merged(), "merges", R"(["a b", "b a"])"),
                "tokenizer.ggml.merges[1]: string \"b a\" does not join two "
                "tokens to a third");
  expectRefusal(openWith(merged(), "merges", R"([""])"), "merges[0]");
}

// tokenizer.json files of a few tokens, right and wrong.

#include "runtime/files/Json.h"
#include "runtime/files/Tokenizer.h"
#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;
using Pointer = std::shared_ptr<const Tokenizer>;

/// A byte-level tokenizer: a = 0, b = 1, space = 2, ab = 3, and <s> = 4.
json byteLevel() {
  return json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": null,
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE",
              "vocab": {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "<s>": 4},
              "merges": ["a b"]}})");
}

/// A tokenizer of characters with byte tokens: <unk> = 0, a mark = 1,
/// a = 2, mark a = 3, and the bytes of "é" = 4 and 5.
json characters() {
  return json::parse(R"({
    "added_tokens": [],
    "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "always",
                      "split": false},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
    "model": {"vocab": {"<unk>": 0, "\u2581": 1, "a": 2, "\u2581a": 3,
                        "<0xC3>": 4, "<0xA9>": 5},
              "merges": [["\u2581", "a"]], "unk_token": "<unk>",
              "byte_fallback": true, "fuse_unk": true}})");
}

Result<Pointer> openText(const std::string &text,
                         const std::string &config = "") {
  Folder folder;
  std::string path = folder.write("tokenizer.json", text);
  if (!config.empty())
    folder.write("tokenizer_config.json", config);
  return openTokenizer(path);
}

/// Opens `file` after the change of one value, named as in JSON pointers.
Result<Pointer> openWith(json file, const std::string &pointer,
                         const std::string &value) {
  file[json::json_pointer(pointer)] = json::parse(value);
  return openText(file.dump());
}

Pointer open(const json &file, const std::string &config = "") {
  Result<Pointer> tokenizer = openText(file.dump(), config);
  EXPECT_TRUE(tokenizer.ok()) << messageOf(tokenizer);
  return tokenizer.ok() ? *tokenizer : nullptr;
}

} // namespace

TEST(TokenizerJson, EncodesAndDecodesBytes) {
  Pointer tokenizer = open(byteLevel());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->encode("ab a<s>b"), (Ids{3, 2, 0, 4, 1}));
  EXPECT_EQ(*tokenizer->decode({3, 2, 0, 4, 1}), "ab a<s>b");
  EXPECT_EQ(*tokenizer->decode({3, 4, 1}, {/*skipSpecial=*/true}), "abb");
  EXPECT_EQ(tokenizer->idOf("\u0120"), std::optional<int32_t>(2));
  EXPECT_EQ(tokenizer->idOf("zz"), std::nullopt);
  EXPECT_TRUE(tokenizer->isSpecial(4));
  EXPECT_FALSE(tokenizer->isSpecial(3));
  EXPECT_FALSE(tokenizer->isSpecial(99));
  EXPECT_EQ(tokenizer->vocabularySize(), 5);
}

TEST(TokenizerJson, SpellsUnknownCharactersInBytes) {
  Pointer tokenizer = open(characters());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->encode("a é"), (Ids{3, 1, 4, 5}));
  EXPECT_EQ(*tokenizer->encode("aüü"), (Ids{3, 0}));
  EXPECT_EQ(*tokenizer->decode({3, 1, 4, 5}), "a é");
  EXPECT_EQ(*tokenizer->decode({3, 1, 4, 5}, {false, /*continues=*/true}),
            " a é");
}

TEST(TokenizerJson, StreamsWholeCodePointsOnly) {
  Pointer tokenizer = open(characters());
  ASSERT_NE(tokenizer, nullptr);
  StreamDecoder stream(*tokenizer);
  EXPECT_EQ(stream.push(3), "a");
  EXPECT_EQ(stream.push(4), "");
  EXPECT_EQ(stream.push(5), "é");
  EXPECT_EQ(stream.push(4), "");
  EXPECT_EQ(stream.push(2), "\ufffda");
  EXPECT_EQ(stream.push(5), "\ufffd");
  EXPECT_EQ(stream.push(12345), "");
  EXPECT_EQ(stream.push(4), "");
  EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(TokenizerJson, RefusesTextAndIdsThatCannotBe) {
  Pointer tokenizer = open(byteLevel());
  ASSERT_NE(tokenizer, nullptr);
  expectRefusal(tokenizer->encode("ab\xff"), "not UTF-8 at its byte 2");
  expectRefusal(tokenizer->decode({0, 5}),
                "the id 5 is not in the vocabulary, which has ids 0 to 4");
  expectRefusal(tokenizer->decode({-1}), "the id -1 is not in the vocabulary");
}

TEST(TokenizerJson, AddsWhatTheTemplateSays) {
  json file = byteLevel();
  file["post_processor"] = json::parse(R"({"type": "Sequence", "processors": [
    {"type": "ByteLevel"},
    {"type": "TemplateProcessing",
     "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<s>", "type_id": 0}}],
     "special_tokens": {"<s>": {"id": "<s>", "ids": [4]}}}]})");
  Pointer tokenizer = open(file);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->encode("a", {true}), (Ids{4, 0, 4}));
  EXPECT_EQ(*tokenizer->encode("a"), (Ids{0}));
  EXPECT_TRUE(tokenizer->settings().addsBos);
  EXPECT_EQ(tokenizer->settings().bosId, std::optional<int32_t>(4));
  // tokenizer_config.json has the last word.
  tokenizer = open(file, R"({"add_bos_token": false, "add_eos_token": false})");
  EXPECT_EQ(*tokenizer->encode("a", {true}), (Ids{0}));
}

TEST(TokenizerJson, AddsWhatTheConfigSays) {
  Pointer tokenizer = open(byteLevel(), R"({"add_bos_token": true,
    "bos_token": {"content": "<s>"}, "eos_token": "<s>",
    "chat_template": "{{ messages }}"})");
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->encode("a", {true}), (Ids{4, 0}));
  EXPECT_EQ(tokenizer->settings().eosIds, Ids{4});
  EXPECT_TRUE(tokenizer->settings().hasChatTemplate);
  EXPECT_FALSE(open(byteLevel(), R"({"add_bos_token": false,
    "bos_token": "<s>"})")
                   ->settings()
                   .addsBos);
}

TEST(TokenizerJson, NormalizedTokensAreFoundInNormalizedText) {
  json file = characters();
  file["normalizer"] = {
      {"type", "Replace"}, {"pattern", {{"String", "X"}}}, {"content", "a"}};
  file["added_tokens"] =
      json::parse(R"([{"id": 6, "content": "aX", "normalized": true}])");
  Pointer tokenizer = open(file);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->encode("XX"), (Ids{6}));
}

TEST(TokenizerJson, ReadsEachKindOfStep) {
  json file = characters();
  file["normalizer"] = json::parse(R"({"type": "Sequence", "normalizers": [
    {"type": "NFC"}, {"type": "NFD"}, {"type": "Strip"},
    {"type": "Prepend", "prepend": "a"},
    {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "a"}]})");
  file["pre_tokenizer"] = json::parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"String": "-"}, "behavior": "Removed",
     "invert": false},
    {"type": "Digits", "individual_digits": true},
    {"type": "Punctuation"}, {"type": "WhitespaceSplit"},
    {"type": "Whitespace"}]})");
  Pointer tokenizer = open(file);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(*tokenizer->encode(" bb-a a "), (Ids{2, 2, 2, 2}));
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnow) {
  auto refuse = [](const char *pointer, const char *value, const char *part) {
    expectRefusal(openWith(byteLevel(), pointer, value), part);
  };
  refuse("/model/type", R"("Unigram")",
         "tokenizer.json: model: the model type 'Unigram' is not supported");
  refuse("/model/end_of_word_suffix", R"("</w>")",
         "model: end_of_word_suffix is not supported");
  refuse("/normalizer", R"({"type": "Precompiled"})",
         "normalizer: the normalizer 'Precompiled' is not supported");
  refuse("/pre_tokenizer", R"({"type": "BertPreTokenizer"})",
         "the pre-tokenizer 'BertPreTokenizer' is not supported");
  refuse("/decoder", R"({"type": "WordPiece"})",
         "the decoder 'WordPiece' is not supported");
  refuse("/post_processor", R"({"type": "Other"})",
         "the post-processor 'Other' is not supported");
  refuse("/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}]})",
         "pre_tokenizer.pretokenizers[0].pattern: the pattern '(a' is wrong");
  refuse("/pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "a"},
      "behavior": "Sideways"})",
         "unknown behavior 'Sideways'");
}

TEST(TokenizerJson, RefusesWrongValues) {
  auto refuse = [](const char *pointer, const char *value, const char *part) {
    expectRefusal(openWith(byteLevel(), pointer, value), part);
  };
  refuse("/model", "null", "tokenizer.json: the key 'model' is missing");
  refuse("/model/vocab", "[]", "model.vocab: expected an object of tokens");
  refuse("/model/vocab/a", "-1", "model.vocab.a: expected an id from 0 to");
  refuse("/model/vocab/a", "1e12", "model.vocab.a: expected an id from 0 to");
  refuse("/model/vocab/a", R"("0")",
         "model.vocab.a: expected an integer, got string \"0\"");
  refuse("/model/vocab/b", "0",
         "model.vocab.b: the id 0 is given to another token already");
  refuse("/model/unk_token", R"("<unk>")",
         "unk_token: '<unk>' is not in the vocabulary");
  refuse("/model/merges", "{}", "model.merges: expected an array");
  refuse("/model/merges/0", R"("ab")",
         "model.merges[0]: expected two tokens, as a pair or with one space");
  refuse("/model/merges/0", R"("a b a")", "model.merges[0]: expected two");
  refuse("/model/merges/0", R"(["a"])",
         "model.merges[0]: expected two tokens, as a pair or with one space "
         "between, got an array");
  refuse("/model/merges/0", R"(["a", "z"])",
         "model.merges[0]: string \"z\" is not in the vocabulary");
  refuse("/model/merges/0", R"(["b", "a"])",
         "model.merges[0]: string \"ba\" is not in the vocabulary");
  refuse("/added_tokens/0/id", "null", "added_tokens[0]: the key 'id' is");
  refuse("/added_tokens/0/special", "1",
         "added_tokens[0].special: expected true or false, got number 1");
  refuse("/added_tokens", R"("none")", "added_tokens: expected an array");
  expectRefusal(openText("{\"model\": {\"vocab\": {\"a\": 0, \"a\": 1}}}"),
                "the key 'a' stands twice in one object");
  expectRefusal(openText(byteLevel().dump().substr(0, 100)), "not valid JSON");
  expectRefusal(openText(byteLevel().dump(), R"({"add_bos_token": "yes"})"),
                "tokenizer_config.json: add_bos_token: expected true or false");
}

TEST(TokenizerJson, IsMissing) {
  Folder folder;
  folder.write("config.json", "{}");
  expectRefusal(openTokenizer(folder.path()), "the model has no tokenizer");
}

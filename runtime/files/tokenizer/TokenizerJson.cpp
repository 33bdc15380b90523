#include "runtime/files/Json.h"
#include "runtime/files/tokenizer/ByteAlphabet.h"
#include "runtime/files/tokenizer/TokenizerFiles.h"

namespace tandem {
namespace {

using nlohmann::json;

/// Puts a tokenizer.json together, part by part.
class JsonReader {
public:
  JsonReader(const ConfigNode &file, TokenizerParts &parts)
      : file_(file), parts_(parts) {}

  Status read();

private:
  Status readSteps();
  Status readModel(const ConfigNode &model);
  Status refuseUnknownModel(const ConfigNode &model) const;
  Result<BytePairs::Options> readOptions(const ConfigNode &model) const;
  Status readVocabulary(const ConfigNode &model);
  void addSymbols(bool byteFallback);
  Status readMerges(const ConfigNode &model);
  Status addMerge(const json &merge, const std::string &place);
  Result<int32_t> mergeToken(const std::string &token,
                             const std::string &place) const;
  Status readAddedTokens();
  Status setText(int32_t id, const std::string &token, bool special);

  const ConfigNode &file_;
  TokenizerParts &parts_;
  TokenDecoder decoder_;
  bool byteLevel_ = false;
};

Status JsonReader::read() {
  TANDEM_TRY(readSteps());
  TANDEM_ASSIGN(ConfigNode model, file_.at("model"));
  TANDEM_TRY(readModel(model));
  return readAddedTokens();
}

Status JsonReader::readSteps() {
  if (std::optional<ConfigNode> node = file_.find("normalizer"))
    TANDEM_TRY(readNormalizer(*node, parts_.normalizer));
  if (std::optional<ConfigNode> node = file_.find("pre_tokenizer"))
    TANDEM_TRY(readPreTokenizer(*node, parts_.preTokenizer, byteLevel_));
  if (std::optional<ConfigNode> node = file_.find("post_processor"))
    TANDEM_TRY(readPostProcessor(*node, parts_.prefix, parts_.suffix));
  TANDEM_ASSIGN(decoder_, TokenDecoder::read(file_.find("decoder")));
  decoder_.describe(parts_.texts);
  return Status();
}

Status JsonReader::refuseUnknownModel(const ConfigNode &model) const {
  // Files from before there were several kinds do not say which they are.
  TANDEM_ASSIGN(std::string type, model.stringOr("type", "BPE"));
  if (type != "BPE")
    return model.error("the model type '" + type +
                       "' is not supported; supported is BPE");
  for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    TANDEM_ASSIGN(std::string text, model.stringOr(key, ""));
    if (!text.empty())
      return model.error(std::string(key) + " is not supported");
  }
  return Status();
}

Result<BytePairs::Options>
JsonReader::readOptions(const ConfigNode &model) const {
  BytePairs::Options options;
  options.byteLevel = byteLevel_;
  TANDEM_ASSIGN(options.ignoreMerges, model.booleanOr("ignore_merges", false));
  TANDEM_ASSIGN(options.fuseUnknown, model.booleanOr("fuse_unk", false));
  if (model.has("unk_token")) {
    TANDEM_ASSIGN(std::string token, model.string("unk_token"));
    options.unknownId = parts_.idOf(token);
    if (!options.unknownId)
      return model.error("unk_token: '" + token + "' is not in the vocabulary");
  }
  return options;
}

Status JsonReader::readModel(const ConfigNode &model) {
  TANDEM_TRY(refuseUnknownModel(model));
  TANDEM_TRY(readVocabulary(model));
  TANDEM_ASSIGN(BytePairs::Options options, readOptions(model));
  TANDEM_ASSIGN(bool byteFallback, model.booleanOr("byte_fallback", false));
  parts_.model.emplace(options);
  addSymbols(byteFallback);
  return readMerges(model);
}

Status JsonReader::setText(int32_t id, const std::string &token, bool special) {
  TANDEM_ASSIGN(std::string text, decoder_.textOf(token));
  parts_.texts.set(id, std::move(text), special);
  return Status();
}

Status JsonReader::readVocabulary(const ConfigNode &model) {
  TANDEM_ASSIGN(ConfigNode vocabulary, model.at("vocab"));
  const json &value = vocabulary.value();
  if (!value.is_object() || value.empty())
    return vocabulary.error("expected an object of tokens and their ids, got " +
                            describeJson(value));
  for (auto it = value.begin(); it != value.end(); ++it) {
    TANDEM_ASSIGN(ConfigNode node, vocabulary.at(it.key()));
    TANDEM_ASSIGN(int32_t id, tokenId(node));
    if (parts_.texts.has(id))
      return node.error("the id " + std::to_string(id) +
                        " is given to another token already");
    TANDEM_TRY(setText(id, it.key(), /*special=*/false));
    parts_.ids[it.key()] = id;
  }
  return Status();
}

void JsonReader::addSymbols(bool byteFallback) {
  for (const auto &[token, id] : parts_.ids) {
    std::optional<unsigned char> byte = byteOfToken(token);
    if (byteFallback && byte)
      parts_.model->addByte(*byte, id);
    else if (!byteLevel_)
      parts_.model->addToken(id, token);
    else if (std::optional<std::string> bytes = bytesOfAlphabet(token))
      parts_.model->addToken(id, *bytes);
  }
}

Result<int32_t> JsonReader::mergeToken(const std::string &token,
                                       const std::string &place) const {
  std::optional<int32_t> id = parts_.idOf(token);
  if (!id)
    return Status::refused(place + ": " + describeJson(token) +
                           " is not in the vocabulary");
  return *id;
}

Status JsonReader::addMerge(const json &merge, const std::string &place) {
  std::string left, right;
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
      merge[1].is_string()) {
    left = merge[0].get<std::string>();
    right = merge[1].get<std::string>();
  } else {
    std::string text = merge.is_string() ? merge.get<std::string>() : "";
    size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != text.npos)
      return Status::refused(
          place +
          ": expected two tokens, as a pair or with one space "
          "between, got " +
          describeJson(merge));
    left = text.substr(0, space);
    right = text.substr(space + 1);
  }
  TANDEM_ASSIGN(int32_t leftId, mergeToken(left, place));
  TANDEM_ASSIGN(int32_t rightId, mergeToken(right, place));
  TANDEM_ASSIGN(int32_t mergedId, mergeToken(left + right, place));
  parts_.model->addMerge(leftId, rightId, mergedId);
  return Status();
}

Status JsonReader::readMerges(const ConfigNode &model) {
  TANDEM_ASSIGN(ConfigNode merges, model.at("merges"));
  const json &list = merges.value();
  if (!list.is_array())
    return merges.error("expected an array, got " + describeJson(list));
  for (size_t i = 0; i < list.size(); ++i)
    TANDEM_TRY(
        addMerge(list[i], merges.where() + "[" + std::to_string(i) + "]"));
  return Status();
}

Status JsonReader::readAddedTokens() {
  std::optional<ConfigNode> list = file_.find("added_tokens");
  if (!list)
    return Status();
  TANDEM_ASSIGN(std::vector<ConfigNode> nodes, list->asArray());
  for (const ConfigNode &node : nodes) {
    AddedToken token;
    TANDEM_ASSIGN(token.content, node.string("content"));
    TANDEM_ASSIGN(ConfigNode id, node.at("id"));
    TANDEM_ASSIGN(token.id, tokenId(id));
    TANDEM_ASSIGN(token.special, node.booleanOr("special", false));
    TANDEM_ASSIGN(token.normalized,
                  node.booleanOr("normalized", !token.special));
    TANDEM_ASSIGN(token.singleWord, node.booleanOr("single_word", false));
    TANDEM_ASSIGN(token.lstrip, node.booleanOr("lstrip", false));
    TANDEM_ASSIGN(token.rstrip, node.booleanOr("rstrip", false));
    TANDEM_TRY(setText(token.id, token.content, token.special));
    parts_.ids[token.content] = token.id;
    TANDEM_TRY(parts_.addToken(token).withContext(node.where()));
  }
  return Status();
}

/// The token that tokenizer_config.json names as `key`: its text, or an
/// object that has it as `content`.
Result<std::optional<int32_t>> namedToken(const ConfigNode &config,
                                          const char *key,
                                          const TokenizerParts &parts) {
  std::optional<ConfigNode> node = config.find(key);
  if (!node)
    return std::optional<int32_t>();
  if (node->isObject()) {
    TANDEM_ASSIGN(node, node->at("content"));
  }
  TANDEM_ASSIGN(std::string token, node->asString());
  return parts.idOf(token);
}

Result<std::optional<bool>> switchOf(const ConfigNode &config,
                                     const char *key) {
  if (!config.has(key))
    return std::optional<bool>();
  TANDEM_ASSIGN(bool value, config.boolean(key));
  return std::optional<bool>(value);
}

Status applyConfig(const ConfigNode &config, TokenizerParts &parts) {
  TANDEM_ASSIGN(parts.settings.bosId, namedToken(config, "bos_token", parts));
  TANDEM_ASSIGN(std::optional<int32_t> eos,
                namedToken(config, "eos_token", parts));
  if (eos)
    parts.settings.eosIds = {*eos};
  TANDEM_ASSIGN(std::optional<bool> addBos, switchOf(config, "add_bos_token"));
  TANDEM_ASSIGN(std::optional<bool> addEos, switchOf(config, "add_eos_token"));
  parts.settings.hasChatTemplate = config.has("chat_template");
  parts.finishSpecial(addBos, addEos);
  return Status();
}

} // namespace

TokenizerResult
readTokenizerJson(const ConfigNode &file,
                  const std::optional<ConfigNode> &tokenizerConfig) {
  auto parts = std::make_unique<TokenizerParts>();
  TANDEM_TRY(JsonReader(file, *parts).read());
  if (tokenizerConfig)
    TANDEM_TRY(applyConfig(*tokenizerConfig, *parts));
  else
    parts->finishSpecial(std::nullopt, std::nullopt);
  return parts;
}

} // namespace tandem

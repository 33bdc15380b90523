#include "runtime/base/Log.h"
#include "runtime/files/Json.h"
#include "runtime/files/tokenizer/ByteAlphabet.h"
#include "runtime/files/tokenizer/TokenizerFiles.h"

#include <cmath>

namespace tandem {
namespace {

/// GGUF's kinds of tokens.
enum TokenType : int64_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

constexpr const char *llama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
constexpr const char *qwen2Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/// What a name of tokenizer.ggml.pre stands for: patterns that cut the text
/// one after another, and what goes with them.
struct PreTokenizerName {
  const char *name;
  std::vector<const char *> patterns;
  bool composes, ignoresMerges, addsBos;
};

const std::vector<PreTokenizerName> &preTokenizerNames() {
  static const std::vector<PreTokenizerName> names = {
      {"default", {gpt2Pattern}, false, false, false},
      {"gpt-2", {gpt2Pattern}, false, false, false},
      {"mpt", {gpt2Pattern}, false, false, false},
      {"olmo", {gpt2Pattern}, false, false, false},
      {"jais", {gpt2Pattern}, false, false, false},
      {"smollm", {"\\p{N}", gpt2Pattern}, false, false, false},
      {"starcoder", {"\\p{N}", gpt2Pattern}, false, false, false},
      {"refact", {"\\p{N}", gpt2Pattern}, false, false, false},
      {"command-r", {"\\p{N}", gpt2Pattern}, false, false, false},
      {"codeshell", {"\\p{N}", gpt2Pattern}, false, false, false},
      {"llama-bpe", {llama3Pattern}, false, true, true},
      {"llama3", {llama3Pattern}, false, true, true},
      {"llama-v3", {llama3Pattern}, false, true, true},
      {"qwen2", {qwen2Pattern}, true, false, false},
      {"deepseek-r1-qwen", {qwen2Pattern}, true, false, false},
  };
  return names;
}

/// Puts the tokenizer of a GGUF file together.
class GgufTokenizerReader {
public:
  GgufTokenizerReader(const ConfigNode &metadata, TokenizerParts &parts)
      : metadata_(metadata), parts_(parts) {}

  Status read();

private:
  std::optional<ConfigNode> find(const std::string &key) const {
    return metadata_.find("tokenizer.ggml." + key);
  }
  Result<std::optional<int32_t>> idAt(const std::string &key) const;
  Status readTokens();
  Status addTokens();
  Status readByteLevel();
  Status readScored();
  Status readMerges();
  Status addMerge(const std::string &text, const std::string &place);
  Status addSpecial();
  const PreTokenizerName &preTokenizerName();
  std::string textOf(const std::string &token, int64_t type) const;

  const ConfigNode &metadata_;
  TokenizerParts &parts_;
  std::vector<std::string> tokens_;
  std::vector<int64_t> types_;
  bool byteLevel_ = false, addsBos_ = false;
};

Status GgufTokenizerReader::read() {
  TANDEM_ASSIGN(std::string model, metadata_.string("tokenizer.ggml.model"));
  if (model != "gpt2" && model != "llama")
    return metadata_.error("tokenizer.ggml.model: the tokenizer '" + model +
                           "' is not supported; supported are gpt2 and llama");
  byteLevel_ = model == "gpt2";
  TANDEM_TRY(readTokens());
  TANDEM_TRY(byteLevel_ ? readByteLevel() : readScored());
  TANDEM_TRY(addTokens());
  return addSpecial();
}

Result<std::optional<int32_t>>
GgufTokenizerReader::idAt(const std::string &key) const {
  std::optional<ConfigNode> node = find(key);
  if (!node)
    return std::optional<int32_t>();
  TANDEM_ASSIGN(int32_t id, tokenId(*node));
  if (static_cast<size_t>(id) >= tokens_.size())
    return node->error("the id " + std::to_string(id) +
                       " is not in the vocabulary of " +
                       std::to_string(tokens_.size()) + " tokens");
  return std::optional<int32_t>(id);
}

Status GgufTokenizerReader::readTokens() {
  TANDEM_ASSIGN(ConfigNode tokens, metadata_.at("tokenizer.ggml.tokens"));
  TANDEM_ASSIGN(tokens_, tokens.asStrings());
  if (tokens_.empty() || tokens_.size() > static_cast<size_t>(largestTokenId))
    return tokens.error("a vocabulary of " + std::to_string(tokens_.size()) +
                        " tokens");
  types_.assign(tokens_.size(), Normal);
  if (std::optional<ConfigNode> node = find("token_type")) {
    TANDEM_ASSIGN(types_, node->asIntegers());
    if (types_.size() != tokens_.size())
      return node->error("there are " + std::to_string(types_.size()) +
                         " of them for " + std::to_string(tokens_.size()) +
                         " tokens");
  }
  return Status();
}

std::string GgufTokenizerReader::textOf(const std::string &token,
                                        int64_t type) const {
  bool named = type == Control || type == UserDefined || type == Unknown;
  if (byteLevel_)
    return named ? token : bytesOfAlphabet(token).value_or(token);
  std::optional<unsigned char> byte = byteOfToken(token);
  if (type == Byte && byte)
    return std::string(1, static_cast<char>(*byte));
  return named ? token : replaced(token, spaceMark, " ");
}

Status GgufTokenizerReader::addTokens() {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    auto id = static_cast<int32_t>(i);
    int64_t type = types_[i];
    bool special = type == Control || type == Unknown;
    parts_.texts.set(id, textOf(tokens_[i], type), special);
    if (!special && type != UserDefined)
      continue;
    AddedToken token;
    token.content = tokens_[i];
    token.id = id;
    token.special = special;
    TANDEM_TRY(parts_.addToken(token));
  }
  return Status();
}

const PreTokenizerName &GgufTokenizerReader::preTokenizerName() {
  std::optional<ConfigNode> node = find("pre");
  Result<std::string> name = node ? node->asString() : std::string();
  for (const PreTokenizerName &row : preTokenizerNames())
    if (name.ok() && *name == row.name)
      return row;
  logWarning(metadata_.file() + ": " +
             (node ? "the pre-tokenizer " + describeJson(node->value()) +
                         " is not known"
                   : "no pre-tokenizer is named (tokenizer.ggml.pre)") +
             "; GPT-2's is used, other text may be cut into other tokens");
  return preTokenizerNames().front();
}

Status GgufTokenizerReader::readByteLevel() {
  const PreTokenizerName &name = preTokenizerName();
  for (const char *pattern : name.patterns) {
    TANDEM_ASSIGN(Regex regex, Regex::compile(pattern));
    parts_.preTokenizer.split(std::move(regex), SplitBehavior::Isolated,
                              /*invert=*/false);
  }
  if (name.composes)
    parts_.normalizer.compose();
  addsBos_ = name.addsBos;
  BytePairs::Options options;
  options.byteLevel = true;
  options.ignoreMerges = name.ignoresMerges;
  parts_.model.emplace(options);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    auto id = static_cast<int32_t>(i);
    parts_.ids.try_emplace(tokens_[i], id);
    if (types_[i] != Normal)
      continue;
    if (std::optional<std::string> bytes = bytesOfAlphabet(tokens_[i]))
      parts_.model->addToken(id, *bytes);
  }
  return readMerges();
}

Status GgufTokenizerReader::readMerges() {
  TANDEM_ASSIGN(ConfigNode node, metadata_.at("tokenizer.ggml.merges"));
  TANDEM_ASSIGN(std::vector<std::string> merges, node.asStrings());
  for (size_t i = 0; i < merges.size(); ++i)
    TANDEM_TRY(
        addMerge(merges[i], node.where() + "[" + std::to_string(i) + "]"));
  return Status();
}

Status GgufTokenizerReader::addMerge(const std::string &text,
                                     const std::string &place) {
  // The first character may itself be a space in some vocabularies.
  size_t space = text.find(' ', 1);
  std::optional<int32_t> left, right, merged;
  if (space != std::string::npos) {
    std::string a = text.substr(0, space), b = text.substr(space + 1);
    left = parts_.idOf(a);
    right = parts_.idOf(b);
    merged = parts_.idOf(a + b);
  }
  if (!left || !right || !merged)
    return Status::refused(place + ": " + describeJson(text) +
                           " does not join two tokens to a third of the "
                           "vocabulary");
  parts_.model->addMerge(*left, *right, *merged);
  return Status();
}

Status GgufTokenizerReader::readScored() {
  std::optional<ConfigNode> prefix = find("add_space_prefix");
  bool addSpace = true;
  if (prefix) {
    TANDEM_ASSIGN(addSpace, prefix->asBoolean());
  }
  if (addSpace) {
    parts_.normalizer.prepend(spaceMark);
    parts_.texts.leading = " ";
    parts_.texts.leadingCount = 1;
  }
  parts_.normalizer.replace(" ", spaceMark);
  addsBos_ = true;
  TANDEM_ASSIGN(ConfigNode node, metadata_.at("tokenizer.ggml.scores"));
  TANDEM_ASSIGN(std::vector<double> scores, node.asNumbers());
  if (scores.size() != tokens_.size())
    return node.error("there are " + std::to_string(scores.size()) +
                      " of them for " + std::to_string(tokens_.size()) +
                      " tokens");
  for (size_t i = 0; i < scores.size(); ++i)
    if (std::isnan(scores[i]))
      return node.error("element " + std::to_string(i) + " is no number");
  BytePairs::Options options;
  options.fuseUnknown = true;
  TANDEM_ASSIGN(options.unknownId, idAt("unknown_token_id"));
  parts_.model.emplace(options);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    auto id = static_cast<int32_t>(i);
    parts_.ids.try_emplace(tokens_[i], id);
    std::optional<unsigned char> byte = byteOfToken(tokens_[i]);
    if (types_[i] == Byte && byte)
      parts_.model->addByte(*byte, id);
    else if (types_[i] == Normal || types_[i] == UserDefined)
      parts_.model->addToken(id, tokens_[i]);
  }
  parts_.model->addMergesByScore(scores);
  return Status();
}

Status GgufTokenizerReader::addSpecial() {
  TokenizerSettings &settings = parts_.settings;
  TANDEM_ASSIGN(settings.bosId, idAt("bos_token_id"));
  for (const char *key : {"eos_token_id", "eot_token_id"}) {
    TANDEM_ASSIGN(std::optional<int32_t> id, idAt(key));
    if (id && (settings.eosIds.empty() || settings.eosIds.front() != *id))
      settings.eosIds.push_back(*id);
  }
  settings.hasChatTemplate = metadata_.has("tokenizer.chat_template");
  bool addBos = addsBos_, addEos = false;
  if (std::optional<ConfigNode> node = find("add_bos_token")) {
    TANDEM_ASSIGN(addBos, node->asBoolean());
  }
  if (std::optional<ConfigNode> node = find("add_eos_token")) {
    TANDEM_ASSIGN(addEos, node->asBoolean());
  }
  parts_.finishSpecial(addBos, addEos);
  return Status();
}

} // namespace

TokenizerResult readGgufTokenizer(const ConfigNode &metadata) {
  if (!metadata.has("tokenizer.ggml.model"))
    return std::unique_ptr<TokenizerParts>();
  auto parts = std::make_unique<TokenizerParts>();
  TANDEM_TRY(GgufTokenizerReader(metadata, *parts).read());
  return parts;
}

} // namespace tandem

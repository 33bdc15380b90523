#include "runtime/files/tokenizer/TokenizerFiles.h"

namespace tandem {
namespace {

/// Calls `read` for the node, or for each of its `list` if it is a Sequence.
template <typename Read>
Status forEachStep(const ConfigNode &node, const char *list, Read read) {
  TANDEM_ASSIGN(std::string type, node.string("type"));
  if (type != "Sequence")
    return read(node, type);
  TANDEM_ASSIGN(ConfigNode array, node.at(list));
  TANDEM_ASSIGN(std::vector<ConfigNode> steps, array.asArray());
  for (const ConfigNode &step : steps)
    TANDEM_TRY(forEachStep(step, list, read));
  return Status();
}

Status addReplace(const ConfigNode &node, Normalizer &normalizer) {
  TANDEM_ASSIGN(std::string content, node.string("content"));
  TANDEM_ASSIGN(ConfigNode pattern, node.at("pattern"));
  if (pattern.has("String")) {
    TANDEM_ASSIGN(std::string from, pattern.string("String"));
    if (from.empty())
      return pattern.error("an empty text cannot be replaced");
    normalizer.replace(std::move(from), std::move(content));
    return Status();
  }
  TANDEM_ASSIGN(Regex regex, readPattern(pattern));
  normalizer.replace(std::move(regex), std::move(content));
  return Status();
}

Status addNormalizer(const ConfigNode &node, const std::string &type,
                     Normalizer &normalizer) {
  if (type == "Replace")
    return addReplace(node, normalizer);
  if (type == "Strip") {
    TANDEM_ASSIGN(bool left, node.booleanOr("strip_left", true));
    TANDEM_ASSIGN(bool right, node.booleanOr("strip_right", true));
    return normalizer.strip(left, right);
  }
  if (type == "Prepend") {
    TANDEM_ASSIGN(std::string text, node.string("prepend"));
    normalizer.prepend(std::move(text));
  } else if (type == "NFC") {
    normalizer.compose();
  } else if (type == "NFD") {
    normalizer.decompose();
  } else {
    return node.error("the normalizer '" + type +
                      "' is not supported; supported are NFC, NFD, Prepend, "
                      "Replace, Strip and Sequence");
  }
  return Status();
}

Result<SplitBehavior> readBehavior(const ConfigNode &node) {
  TANDEM_ASSIGN(std::string text, node.stringOr("behavior", "Isolated"));
  if (text == "Isolated")
    return SplitBehavior::Isolated;
  if (text == "Removed")
    return SplitBehavior::Removed;
  if (text == "MergedWithPrevious")
    return SplitBehavior::MergedWithPrevious;
  if (text == "MergedWithNext")
    return SplitBehavior::MergedWithNext;
  if (text == "Contiguous")
    return SplitBehavior::Contiguous;
  return node.error("unknown behavior '" + text + "'");
}

/// Adds a split by a pattern of our own.
Status addSplit(const std::string &pattern, SplitBehavior behavior,
                PreTokenizer &preTokenizer, bool invert = false) {
  TANDEM_ASSIGN(Regex regex, Regex::compile(pattern));
  preTokenizer.split(std::move(regex), behavior, invert);
  return Status();
}

Status addByteLevel(const ConfigNode &node, PreTokenizer &preTokenizer) {
  TANDEM_ASSIGN(bool prefix, node.booleanOr("add_prefix_space", true));
  TANDEM_ASSIGN(bool cut, node.booleanOr("use_regex", true));
  if (prefix)
    preTokenizer.prepend(" ", PrependScheme::Always);
  return cut ? addSplit(gpt2Pattern, SplitBehavior::Isolated, preTokenizer)
             : Status();
}

Status addMetaspace(const ConfigNode &node, PreTokenizer &preTokenizer) {
  TANDEM_ASSIGN(std::string mark, node.stringOr("replacement", spaceMark));
  if (mark.empty())
    return node.error("replacement must not be empty");
  TANDEM_ASSIGN(bool prefix, node.booleanOr("add_prefix_space", true));
  TANDEM_ASSIGN(std::string scheme,
                node.stringOr("prepend_scheme", prefix ? "always" : "never"));
  TANDEM_ASSIGN(bool cut, node.booleanOr("split", true));
  preTokenizer.replaceSpaces(mark);
  if (scheme == "always")
    preTokenizer.prepend(mark, PrependScheme::Always);
  else if (scheme == "first")
    preTokenizer.prepend(mark, PrependScheme::First);
  else if (scheme != "never")
    return node.error("unknown prepend_scheme '" + scheme + "'");
  return cut ? addSplit(Regex::quote(mark), SplitBehavior::MergedWithNext,
                        preTokenizer)
             : Status();
}

Status addPreTokenizer(const ConfigNode &node, const std::string &type,
                       PreTokenizer &preTokenizer, bool &byteLevel) {
  if (type == "ByteLevel") {
    byteLevel = true;
    return addByteLevel(node, preTokenizer);
  }
  if (type == "Metaspace")
    return addMetaspace(node, preTokenizer);
  if (type == "Split") {
    TANDEM_ASSIGN(ConfigNode pattern, node.at("pattern"));
    TANDEM_ASSIGN(Regex regex, readPattern(pattern));
    TANDEM_ASSIGN(SplitBehavior behavior, readBehavior(node));
    TANDEM_ASSIGN(bool invert, node.booleanOr("invert", false));
    preTokenizer.split(std::move(regex), behavior, invert);
    return Status();
  }
  if (type == "Digits") {
    TANDEM_ASSIGN(bool each, node.booleanOr("individual_digits", false));
    return addSplit(each ? "\\p{N}" : "\\p{N}+", SplitBehavior::Isolated,
                    preTokenizer);
  }
  if (type == "Punctuation") {
    TANDEM_ASSIGN(SplitBehavior behavior, readBehavior(node));
    return addSplit("[!-/:-@\\[-`{-~]|\\p{P}", behavior, preTokenizer);
  }
  if (type == "WhitespaceSplit")
    return addSplit("\\s+", SplitBehavior::Removed, preTokenizer);
  if (type == "Whitespace")
    return addSplit("\\w+|[^\\w\\s]+", SplitBehavior::Removed, preTokenizer,
                    /*invert=*/true);
  return node.error("the pre-tokenizer '" + type +
                    "' is not supported; supported are ByteLevel, Digits, "
                    "Metaspace, Punctuation, Split, Whitespace, "
                    "WhitespaceSplit and Sequence");
}

/// The ids of the template's special token `name`.
Result<std::vector<int32_t>> templateIds(const ConfigNode &processor,
                                         const std::string &name) {
  TANDEM_ASSIGN(ConfigNode tokens, processor.at("special_tokens"));
  TANDEM_ASSIGN(ConfigNode token, tokens.at(name));
  TANDEM_ASSIGN(ConfigNode list, token.at("ids"));
  TANDEM_ASSIGN(std::vector<ConfigNode> nodes, list.asArray());
  std::vector<int32_t> ids;
  for (const ConfigNode &node : nodes) {
    TANDEM_ASSIGN(int32_t id, tokenId(node));
    ids.push_back(id);
  }
  return ids;
}

Status readTemplate(const ConfigNode &node, std::vector<int32_t> &prefix,
                    std::vector<int32_t> &suffix) {
  TANDEM_ASSIGN(ConfigNode single, node.at("single"));
  TANDEM_ASSIGN(std::vector<ConfigNode> items, single.asArray());
  bool behind = false;
  for (const ConfigNode &item : items) {
    behind |= item.has("Sequence");
    std::optional<ConfigNode> special = item.find("SpecialToken");
    if (!special)
      continue;
    TANDEM_ASSIGN(std::string name, special->string("id"));
    TANDEM_ASSIGN(std::vector<int32_t> ids, templateIds(node, name));
    std::vector<int32_t> &to = behind ? suffix : prefix;
    to.insert(to.end(), ids.begin(), ids.end());
  }
  return Status();
}

/// The id in a pair such as ["</s>", 2].
Result<int32_t> pairId(const ConfigNode &node, const char *key) {
  TANDEM_ASSIGN(ConfigNode pair, node.at(key));
  TANDEM_ASSIGN(std::vector<ConfigNode> parts, pair.asArray());
  if (parts.size() != 2)
    return pair.error("expected a token and its id");
  return tokenId(parts[1]);
}

Status addPostProcessor(const ConfigNode &node, const std::string &type,
                        std::vector<int32_t> &prefix,
                        std::vector<int32_t> &suffix) {
  if (type == "ByteLevel") // moves offsets only
    return Status();
  if (type == "TemplateProcessing")
    return readTemplate(node, prefix, suffix);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    TANDEM_ASSIGN(int32_t first, pairId(node, "cls"));
    TANDEM_ASSIGN(int32_t last, pairId(node, "sep"));
    prefix.push_back(first);
    suffix.push_back(last);
    return Status();
  }
  return node.error("the post-processor '" + type +
                    "' is not supported; supported are BertProcessing, "
                    "ByteLevel, RobertaProcessing, TemplateProcessing and "
                    "Sequence");
}

} // namespace

Result<Regex> readPattern(const ConfigNode &node) {
  std::string pattern;
  if (node.has("String")) {
    TANDEM_ASSIGN(std::string text, node.string("String"));
    pattern = Regex::quote(text);
  } else {
    TANDEM_ASSIGN(pattern, node.string("Regex"));
  }
  Result<Regex> regex = Regex::compile(pattern);
  if (!regex.ok())
    return regex.status().withContext(node.where());
  return regex;
}

Result<int32_t> tokenId(const ConfigNode &node) {
  TANDEM_ASSIGN(int64_t id, node.asInteger());
  if (id < 0 || id > largestTokenId)
    return node.error("expected an id from 0 to " +
                      std::to_string(largestTokenId) + ", got " +
                      std::to_string(id));
  return static_cast<int32_t>(id);
}

Status readNormalizer(const ConfigNode &node, Normalizer &normalizer) {
  return forEachStep(node, "normalizers",
                     [&](const ConfigNode &step, const std::string &type) {
                       return addNormalizer(step, type, normalizer);
                     });
}

Status readPreTokenizer(const ConfigNode &node, PreTokenizer &preTokenizer,
                        bool &byteLevel) {
  return forEachStep(node, "pretokenizers",
                     [&](const ConfigNode &step, const std::string &type) {
                       return addPreTokenizer(step, type, preTokenizer,
                                              byteLevel);
                     });
}

Status readPostProcessor(const ConfigNode &node, std::vector<int32_t> &prefix,
                         std::vector<int32_t> &suffix) {
  return forEachStep(node, "processors",
                     [&](const ConfigNode &step, const std::string &type) {
                       return addPostProcessor(step, type, prefix, suffix);
                     });
}

} // namespace tandem

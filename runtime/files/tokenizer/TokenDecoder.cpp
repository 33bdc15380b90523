#include "runtime/files/tokenizer/ByteAlphabet.h"
#include "runtime/files/tokenizer/TokenizerFiles.h"

#include <algorithm>
#include <cctype>

namespace tandem {
namespace {

/// Removes up to `start` times `content` in front and `stop` times behind.
std::string stripped(std::string text, const std::string &content,
                     int64_t start, int64_t stop) {
  size_t n = content.size();
  for (; start > 0 && text.compare(0, n, content) == 0; --start)
    text.erase(0, n);
  for (; stop > 0 && text.size() >= n &&
         text.compare(text.size() - n, n, content) == 0;
       --stop)
    text.erase(text.size() - n);
  return text;
}

} // namespace

std::optional<unsigned char> byteOfToken(std::string_view token) {
  if (token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>' ||
      !std::isxdigit(static_cast<unsigned char>(token[3])) ||
      !std::isxdigit(static_cast<unsigned char>(token[4])))
    return std::nullopt;
  return static_cast<unsigned char>(
      std::stoi(std::string(token.substr(3, 2)), nullptr, 16));
}

Result<TokenDecoder> TokenDecoder::read(const std::optional<ConfigNode> &node) {
  TokenDecoder decoder;
  if (node)
    TANDEM_TRY(decoder.addStep(*node));
  else
    decoder.whole_.separator = " ";
  return decoder;
}

Status TokenDecoder::addStep(const ConfigNode &node) {
  TANDEM_ASSIGN(std::string type, node.string("type"));
  if (type == "Sequence") {
    TANDEM_ASSIGN(ConfigNode list, node.at("decoders"));
    TANDEM_ASSIGN(std::vector<ConfigNode> steps, list.asArray());
    for (const ConfigNode &step : steps)
      TANDEM_TRY(addStep(step));
    return Status();
  }
  if (type == "ByteLevel")
    steps_.push_back({Step::ByteLevel, "", "", std::nullopt});
  else if (type == "ByteFallback")
    steps_.push_back({Step::ByteFallback, "", "", std::nullopt});
  else if (type == "Fuse")
    fused_ = true;
  else if (type == "Replace")
    return addReplace(node);
  else if (type == "Strip")
    return addStrip(node);
  else if (type == "Metaspace")
    return addMetaspace(node);
  else
    return node.error("the decoder '" + type +
                      "' is not supported; supported are ByteLevel, "
                      "ByteFallback, Fuse, Metaspace, Replace, Strip and "
                      "Sequence");
  return Status();
}

Status TokenDecoder::addReplace(const ConfigNode &node) {
  Step step{Step::ReplaceMatches, "", "", std::nullopt};
  TANDEM_ASSIGN(step.to, node.string("content"));
  TANDEM_ASSIGN(ConfigNode pattern, node.at("pattern"));
  if (pattern.has("String")) {
    TANDEM_ASSIGN(step.from, pattern.string("String"));
    step.kind = Step::Replace;
    if (step.from.empty())
      return pattern.error("an empty text cannot be replaced");
  } else {
    TANDEM_ASSIGN(step.regex, readPattern(pattern));
  }
  steps_.push_back(std::move(step));
  return Status();
}

Status TokenDecoder::addStrip(const ConfigNode &node) {
  Step step{Step::Strip, "", "", std::nullopt};
  TANDEM_ASSIGN(step.from, node.string("content"));
  TANDEM_ASSIGN(step.start, node.integerOr("start", 0));
  TANDEM_ASSIGN(step.stop, node.integerOr("stop", 0));
  constexpr int64_t most = 1000;
  if (step.from.empty() || step.start < 0 || step.stop < 0 ||
      step.start > most || step.stop > most)
    return node.error("content must not be empty, start and stop must be 0 "
                      "to " +
                      std::to_string(most));
  if (!fused_) {
    steps_.push_back(std::move(step));
    return Status();
  }
  if (step.stop != 0)
    return node.error("stop: stripping the end of a whole text is not "
                      "supported");
  whole_.leading = step.from;
  whole_.leadingCount = static_cast<int>(step.start);
  return Status();
}

Status TokenDecoder::addMetaspace(const ConfigNode &node) {
  Step step{Step::Replace, "", " ", std::nullopt};
  TANDEM_ASSIGN(step.from, node.stringOr("replacement", spaceMark));
  if (step.from.empty())
    return node.error("replacement must not be empty");
  // The older key says the same with true and false.
  TANDEM_ASSIGN(bool prefix, node.booleanOr("add_prefix_space", true));
  TANDEM_ASSIGN(std::string scheme,
                node.stringOr("prepend_scheme", prefix ? "always" : "never"));
  whole_.firstWithoutSpaces = scheme != "never";
  steps_.push_back(std::move(step));
  return Status();
}

Result<std::string> TokenDecoder::textOf(std::string_view token) const {
  std::string text(token);
  for (const Step &step : steps_) {
    switch (step.kind) {
    case Step::ByteLevel:
      if (std::optional<std::string> bytes = bytesOfAlphabet(text))
        text = std::move(*bytes);
      break;
    case Step::ByteFallback:
      if (std::optional<unsigned char> byte = byteOfToken(text))
        text = std::string(1, static_cast<char>(*byte));
      break;
    case Step::Replace:
      text = replaced(text, step.from, step.to);
      break;
    case Step::ReplaceMatches: {
      TANDEM_ASSIGN(text, replaced(text, *step.regex, step.to));
      break;
    }
    case Step::Strip:
      text = stripped(std::move(text), step.from, step.start, step.stop);
      break;
    }
  }
  return text;
}

void TokenDecoder::describe(TokenTexts &texts) const {
  texts.leading = whole_.leading;
  texts.leadingCount = whole_.leadingCount;
  texts.firstWithoutSpaces = whole_.firstWithoutSpaces;
  texts.separator = whole_.separator;
}

} // namespace tandem

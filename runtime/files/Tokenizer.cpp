#include "runtime/files/Tokenizer.h"

#include "runtime/files/Utf8.h"
#include "runtime/files/tokenizer/TokenizerParts.h"

#include <algorithm>

namespace tandem {
namespace {

/// Encodes one text; remembers the words it has seen.
class Encoder {
public:
  Encoder(const TokenizerParts &parts, std::vector<int32_t> &ids)
      : parts_(parts), ids_(ids) {}

  Status encode(std::string_view text) {
    for (const AddedTokens::Section &section : parts_.rawTokens.split(text)) {
      if (section.id >= 0)
        ids_.push_back(section.id);
      else
        TANDEM_TRY(encodeSection(
            text.substr(section.range.begin, section.range.size()),
            section.range.begin == 0));
    }
    return Status();
  }

private:
  /// Text between added tokens.
  Status encodeSection(std::string_view text, bool atStart) {
    TANDEM_ASSIGN(std::string normal, parts_.normalizer.apply(text));
    for (const AddedTokens::Section &section :
         parts_.normalizedTokens.split(normal)) {
      if (section.id >= 0) {
        ids_.push_back(section.id);
        continue;
      }
      Pieces pieces;
      pieces.text = normal.substr(section.range.begin, section.range.size());
      pieces.ranges = {{0, pieces.text.size()}};
      pieces.atStart = atStart && section.range.begin == 0;
      TANDEM_TRY(parts_.preTokenizer.apply(pieces));
      for (Range range : pieces.ranges)
        encodeWord(
            std::string_view(pieces.text).substr(range.begin, range.size()));
    }
    return Status();
  }

  void encodeWord(std::string_view word) {
    constexpr size_t longest = 64, most = 1 << 16;
    if (word.size() > longest)
      return parts_.model->encode(word, ids_);
    auto [it, isNew] = seen_.try_emplace(std::string(word));
    if (isNew)
      parts_.model->encode(word, it->second);
    ids_.insert(ids_.end(), it->second.begin(), it->second.end());
    if (seen_.size() > most)
      seen_.clear();
  }

  const TokenizerParts &parts_;
  std::vector<int32_t> &ids_;
  std::unordered_map<std::string, std::vector<int32_t>> seen_;
};

} // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> parts)
    : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               EncodeOptions options) const {
  constexpr size_t longest = size_t(1) << 30;
  if (text.size() > longest)
    return Status::refused("the text has " + std::to_string(text.size()) +
                           " bytes; at most " + std::to_string(longest) +
                           " can be turned into tokens at once");
  if (size_t at = utf8::firstInvalid(text); at != std::string_view::npos)
    return Status::refused("the text is not UTF-8 at its byte " +
                           std::to_string(at));
  std::vector<int32_t> ids;
  if (options.addSpecial)
    ids = parts_->prefix;
  TANDEM_TRY(Encoder(*parts_, ids).encode(text));
  if (options.addSpecial)
    ids.insert(ids.end(), parts_->suffix.begin(), parts_->suffix.end());
  return ids;
}

Result<std::string> Tokenizer::decode(const std::vector<int32_t> &ids,
                                      DecodeOptions options) const {
  StreamDecoder stream(*this, options);
  std::string text;
  for (int32_t id : ids) {
    if (id < 0 || id >= vocabularySize())
      return Status::refused("the id " + std::to_string(id) +
                             " is not in the vocabulary, which has ids 0 to " +
                             std::to_string(vocabularySize() - 1));
    text += stream.push(id);
  }
  return text + stream.finish();
}

int64_t Tokenizer::vocabularySize() const {
  return static_cast<int64_t>(parts_->texts.bytes.size());
}

const TokenizerSettings &Tokenizer::settings() const {
  return parts_->settings;
}

std::optional<int32_t> Tokenizer::idOf(std::string_view token) const {
  return parts_->idOf(token);
}

bool Tokenizer::isSpecial(int32_t id) const {
  return parts_->texts.has(id) && parts_->texts.special[id];
}

StreamDecoder::StreamDecoder(const Tokenizer &tokenizer, DecodeOptions options)
    : parts_(*tokenizer.parts_), skipSpecial_(options.skipSpecial),
      first_(!options.continues),
      leadingToDrop_(options.continues ? 0
                                       : tokenizer.parts_->texts.leadingCount) {
}

std::string StreamDecoder::push(int32_t id) {
  const TokenTexts &texts = parts_.texts;
  if (!texts.has(id) || (skipSpecial_ && texts.special[id]))
    return "";
  std::string piece = texts.bytes[id];
  if (first_ && texts.firstWithoutSpaces)
    piece.erase(std::remove(piece.begin(), piece.end(), ' '), piece.end());
  if (!first_)
    piece.insert(0, texts.separator);
  first_ = false;
  pending_ += piece;
  while (leadingToDrop_ > 0 && !pending_.empty()) {
    if (pending_.compare(0, texts.leading.size(), texts.leading) == 0) {
      pending_.erase(0, texts.leading.size());
      --leadingToDrop_;
    } else if (texts.leading.compare(0, pending_.size(), pending_) == 0) {
      return ""; // it may yet become what is dropped
    } else {
      leadingToDrop_ = 0;
    }
  }
  // All but a code point that has only begun.
  size_t whole = pending_.size();
  for (size_t back = 1; back <= 3 && back <= pending_.size(); ++back)
    if (utf8::unitAt(pending_, pending_.size() - back).kind == utf8::Unit::Cut)
      whole = pending_.size() - back;
  std::string text = utf8::repaired(pending_.substr(0, whole));
  pending_.erase(0, whole);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text = utf8::repaired(pending_);
  pending_.clear();
  return text;
}

} // namespace tandem

//===- Tokenizer.h - Text to ids and back -----------------------*- C++ -*-===//
//
// The tokenizer of a model, read from its tokenizer.json or from the metadata
// of its GGUF file. Text passes through five parts, each a file in tokenizer/:
//
//   added tokens   <s>, <|im_end|>, ... cut out of the text wherever they are
//   normalizer     rewrites the rest: " " to "_", Unicode composition
//   pre-tokenizer  cuts it into words that no token reaches across
//   byte pairs     the vocabulary: joins neighbours in the order of the merges
//   decoder        ids to bytes again
//
//   TANDEM_ASSIGN(auto tokenizer, openTokenizer("model"));
//   TANDEM_ASSIGN(std::vector<int32_t> ids, tokenizer->encode("Once upon"));
//   TANDEM_ASSIGN(std::string text, tokenizer->decode(ids));
//
// A tokenizer is not changed after it was read: any number of threads may use
// it at once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tandem {

struct ModelFiles;
struct TokenizerParts;

struct EncodeOptions {
  /// Put in front and behind what the model's settings want there (BOS).
  bool addSpecial = false;
};

struct DecodeOptions {
  /// Leave out special tokens instead of writing their names.
  bool skipSpecial = false;
  /// The ids go on after others: keep the space that begins a word and that
  /// is dropped at the start of a text.
  bool continues = false;
};

/// What a model's own files say about the use of its tokenizer.
struct TokenizerSettings {
  std::optional<int32_t> bosId;
  std::vector<int32_t> eosIds;
  /// Whether `addSpecial` puts anything in front or behind.
  bool addsBos = false, addsEos = false;
  bool hasChatTemplate = false;
};

class Tokenizer {
public:
  explicit Tokenizer(std::unique_ptr<const TokenizerParts> parts);
  ~Tokenizer();

  /// The ids of `text`; tokens that stand in it by name are recognised.
  /// Refuses what is not UTF-8.
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      EncodeOptions options = {}) const;
  /// The text of `ids`, bytes that are no UTF-8 replaced by U+FFFD. Refuses
  /// ids outside the vocabulary.
  Result<std::string> decode(const std::vector<int32_t> &ids,
                             DecodeOptions options = {}) const;

  /// One more than the largest id.
  int64_t vocabularySize() const;
  const TokenizerSettings &settings() const;
  /// The id of the token that the vocabulary writes as `token`.
  std::optional<int32_t> idOf(std::string_view token) const;
  /// Whether `id` is a token such as BOS that stands for no text.
  bool isSpecial(int32_t id) const;

private:
  friend class StreamDecoder;
  std::unique_ptr<const TokenizerParts> parts_;
};

/// Decodes ids as they come. What it gives out is whole code points only: the
/// bytes of one that has only begun are kept for the next call.
class StreamDecoder {
public:
  /// `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer &tokenizer,
                         DecodeOptions options = {});
  /// The text that `id` completes. Ids outside the vocabulary give nothing.
  std::string push(int32_t id);
  /// What is left, as U+FFFD where a code point was cut.
  std::string finish();

private:
  const TokenizerParts &parts_;
  bool skipSpecial_, first_ = true;
  int leadingToDrop_ = 0;
  std::string pending_;
};

/// The tokenizer of an opened model; null where it has none that is known.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(const ModelFiles &model);

/// The tokenizer of the model at `path`: a directory (weights and even
/// config.json may be missing), a tokenizer.json or a GGUF file. Refuses
/// where there is none.
Result<std::shared_ptr<const Tokenizer>> openTokenizer(const std::string &path);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_H

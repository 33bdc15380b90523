//===- TokenizerFiles.h - Readers of tokenizer files ------------*- C++ -*-===//
//
// Each turns one form of file into the parts that Tokenizer runs. A step that
// is not known is an error that names it: leaving it out would give other ids
// without a word. Internal to runtime/files.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_TOKENIZERFILES_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_TOKENIZERFILES_H

#include "runtime/files/ConfigNode.h"
#include "runtime/files/tokenizer/TokenizerParts.h"

namespace tandem {

using TokenizerResult = Result<std::unique_ptr<TokenizerParts>>;

/// Reads a tokenizer.json, and tokenizer_config.json where there is one.
TokenizerResult
readTokenizerJson(const ConfigNode &file,
                  const std::optional<ConfigNode> &tokenizerConfig);

/// Reads the tokenizer of a GGUF file's metadata; null where it has none.
TokenizerResult readGgufTokenizer(const ConfigNode &metadata);

/// The steps that turn a token, as a vocabulary writes it, into its text.
class TokenDecoder {
public:
  /// The steps of a tokenizer.json's `decoder`, absent or not.
  static Result<TokenDecoder> read(const std::optional<ConfigNode> &node);

  /// The bytes that `token` stands for.
  Result<std::string> textOf(std::string_view token) const;
  /// Brings over what applies to texts as a whole.
  void describe(TokenTexts &texts) const;

private:
  struct Step {
    enum Kind { ByteLevel, ByteFallback, Replace, ReplaceMatches, Strip } kind;
    std::string from, to;
    std::optional<Regex> regex;
    int64_t start = 0, stop = 0;
  };
  Status addStep(const ConfigNode &node);
  Status addReplace(const ConfigNode &node);
  Status addStrip(const ConfigNode &node);
  Status addMetaspace(const ConfigNode &node);

  std::vector<Step> steps_;
  bool fused_ = false;
  TokenTexts whole_; // leading and the rest; no tokens
};

/// Adds the steps of a tokenizer.json's `normalizer`.
Status readNormalizer(const ConfigNode &node, Normalizer &normalizer);

/// Adds the steps of a tokenizer.json's `pre_tokenizer`; sets `byteLevel`
/// where one of them makes symbols of bytes.
Status readPreTokenizer(const ConfigNode &node, PreTokenizer &preTokenizer,
                        bool &byteLevel);

/// The ids that a tokenizer.json's `post_processor` puts in front of a text
/// and behind it.
Status readPostProcessor(const ConfigNode &node, std::vector<int32_t> &prefix,
                         std::vector<int32_t> &suffix);

/// A `pattern`: the regular expression it gives, or its quoted text.
Result<Regex> readPattern(const ConfigNode &node);

/// The byte of a token such as <0x0A>, nothing for other tokens.
std::optional<unsigned char> byteOfToken(std::string_view token);

/// An id from a file, in the range that ids may have.
Result<int32_t> tokenId(const ConfigNode &node);

/// SentencePiece's mark for a space, U+2581.
constexpr const char *spaceMark = "\xe2\x96\x81";

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_TOKENIZERFILES_H

//===- TokenizerParts.h - What a tokenizer is made of -----------*- C++ -*-===//
//
// The parts that readers of tokenizer files put together and that Tokenizer
// runs. Internal to runtime/files.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_TOKENIZERPARTS_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_TOKENIZERPARTS_H

#include "runtime/files/Tokenizer.h"
#include "runtime/files/tokenizer/AddedTokens.h"
#include "runtime/files/tokenizer/BytePairs.h"
#include "runtime/files/tokenizer/Normalizer.h"
#include "runtime/files/tokenizer/PreTokenizer.h"

namespace tandem {

/// How ids become text.
struct TokenTexts {
  /// What each id stands for, in bytes; ids between may be unused.
  std::vector<std::string> bytes;
  std::vector<bool> used, special;
  /// Removed from the start of a text, at most `leadingCount` times.
  std::string leading;
  int leadingCount = 0;
  /// The first token of a text loses its spaces.
  bool firstWithoutSpaces = false;
  /// Stands between tokens, for vocabularies that have no decoder.
  std::string separator;

  void set(int32_t id, std::string text, bool isSpecial);
  bool has(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < bytes.size() &&
           used[static_cast<size_t>(id)];
  }
};

struct TokenizerParts {
  /// Found in the text as it is; found after the normalizer.
  AddedTokens rawTokens, normalizedTokens;
  Normalizer normalizer;
  PreTokenizer preTokenizer;
  std::optional<BytePairs> model;
  TokenTexts texts;
  /// Ids of tokens as the vocabulary writes them.
  std::unordered_map<std::string, int32_t> ids;
  /// What `addSpecial` puts in front and behind.
  std::vector<int32_t> prefix, suffix;
  TokenizerSettings settings;

  std::optional<int32_t> idOf(std::string_view token) const;
  /// Adds a token that is found by name in texts.
  Status addToken(const AddedToken &token);
  /// Puts BOS in front as `wanted` says, leaving what is there where it says
  /// nothing; the same for EOS behind. Brings `settings` up to date.
  void finishSpecial(std::optional<bool> wantsBos,
                     std::optional<bool> wantsEos);
};

/// The largest id that a tokenizer file may use.
constexpr int64_t largestTokenId = (int64_t(1) << 24) - 1;

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_TOKENIZERPARTS_H

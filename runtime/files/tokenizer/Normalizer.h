//===- Normalizer.h - Rewrites text before it is cut up ---------*- C++ -*-===//
//
// A list of rewriting steps, applied one after another to the text between
// added tokens.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_NORMALIZER_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_NORMALIZER_H

#include "runtime/files/tokenizer/Regex.h"

namespace tandem {

class Normalizer {
public:
  /// Puts `text` in front of what is not empty.
  void prepend(std::string text);
  /// Replaces each `from` by `to`; `from` is not empty.
  void replace(std::string from, std::string to);
  /// Replaces each match by `to`.
  void replace(Regex from, std::string to);
  /// Unicode's canonical composition (NFC) or decomposition (NFD).
  void compose();
  void decompose();
  /// Removes white space at the start, at the end.
  Status strip(bool left, bool right);

  bool empty() const { return steps_.empty(); }
  Result<std::string> apply(std::string_view text) const;

private:
  struct Step {
    enum Kind { Prepend, Replace, ReplaceMatches, Compose, Decompose } kind;
    std::string from, to;
    std::optional<Regex> regex;
  };
  std::vector<Step> steps_;
};

/// `text` with each `from` replaced by `to`.
std::string replaced(std::string_view text, std::string_view from,
                     std::string_view to);
Result<std::string> replaced(std::string_view text, const Regex &from,
                             std::string_view to);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_NORMALIZER_H

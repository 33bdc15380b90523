//===- PreTokenizer.h - Cuts text into words --------------------*- C++ -*-===//
//
// A list of steps, each of which cuts the pieces that the steps before it
// left. Tokens never reach across two pieces, which is what keeps "dog." and
// "dog!" one word and a mark each.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_PRETOKENIZER_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_PRETOKENIZER_H

#include "runtime/files/tokenizer/Regex.h"

namespace tandem {

/// What becomes of a match that cuts a piece.
enum class SplitBehavior {
  Isolated,           ///< A piece of its own.
  Removed,            ///< Left out.
  MergedWithPrevious, ///< The end of the piece before it.
  MergedWithNext,     ///< The start of the piece behind it.
  Contiguous,         ///< One piece together with matches beside it.
};

/// When a mark is put in front of a text that does not begin with it.
enum class PrependScheme { Never, First, Always };

/// A text and the pieces of it that count.
struct Pieces {
  std::string text;
  std::vector<Range> ranges;
  /// Whether the text is the start of what the user gave.
  bool atStart = false;
};

class PreTokenizer {
public:
  /// Cuts at the matches of `regex`; with `invert`, at what lies between.
  void split(Regex regex, SplitBehavior behavior, bool invert);
  /// Puts `mark` in front of pieces as `scheme` says. A piece that begins
  /// with it is left as it is.
  void prepend(std::string mark, PrependScheme scheme);
  /// Replaces spaces by `mark`.
  void replaceSpaces(std::string mark);

  Status apply(Pieces &pieces) const;

private:
  struct Step {
    enum Kind { Split, Prepend, ReplaceSpaces } kind;
    std::optional<Regex> regex;
    SplitBehavior behavior = SplitBehavior::Isolated;
    bool invert = false;
    std::string mark = {};
    PrependScheme scheme = PrependScheme::Never;
  };
  static Status applySplit(const Step &step, Pieces &pieces);
  static void applyRewriting(const Step &step, Pieces &pieces);

  std::vector<Step> steps_;
};

/// The pattern that GPT-2 cuts text by, and with it most byte-level
/// vocabularies.
extern const char *const gpt2Pattern;

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_PRETOKENIZER_H

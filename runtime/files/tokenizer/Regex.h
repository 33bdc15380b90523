//===- Regex.h - Regular expressions over Unicode ---------------*- C++ -*-===//
//
// PCRE2 in its Unicode mode, which reads the patterns of tokenizer files as
// the library they were written for does. A pattern that backtracks without
// end is stopped and reported, never waited for.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_REGEX_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_REGEX_H

#include "runtime/base/Status.h"

#include <memory>
#include <string_view>
#include <vector>

namespace tandem {

/// A range of bytes of some text.
struct Range {
  size_t begin, end;
  size_t size() const { return end - begin; }
};

class Regex {
public:
  static Result<Regex> compile(const std::string &pattern);
  /// The pattern that matches `text` itself.
  static std::string quote(std::string_view text);

private:
  friend class RegexSearch;
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

  std::shared_ptr<const Code> code_;
};

/// What one thread needs to search for a Regex, any number of times.
class RegexSearch {
public:
  explicit RegexSearch(const Regex &regex);
  ~RegexSearch();

  /// Appends to `matches` the non-empty matches in the part `within` of
  /// `text` (UTF-8), which is searched as if it were alone.
  Status findAll(std::string_view text, Range within,
                 std::vector<Range> &matches);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_REGEX_H

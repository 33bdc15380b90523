#include "runtime/files/tokenizer/Normalizer.h"

#include "runtime/files/tokenizer/Unicode.h"

namespace tandem {

std::string replaced(std::string_view text, std::string_view from,
                     std::string_view to) {
  std::string result;
  size_t done = 0;
  for (size_t at; (at = text.find(from, done)) != std::string_view::npos;
       done = at + from.size())
    result.append(text, done, at - done).append(to);
  return result.append(text, done);
}

Result<std::string> replaced(std::string_view text, const Regex &from,
                             std::string_view to) {
  std::vector<Range> matches;
  TANDEM_TRY(RegexSearch(from).findAll(text, {0, text.size()}, matches));
  std::string result;
  size_t done = 0;
  for (Range match : matches) {
    result.append(text, done, match.begin - done).append(to);
    done = match.end;
  }
  return result.append(text, done);
}

void Normalizer::prepend(std::string text) {
  steps_.push_back({Step::Prepend, "", std::move(text), std::nullopt});
}
void Normalizer::replace(std::string from, std::string to) {
  steps_.push_back(
      {Step::Replace, std::move(from), std::move(to), std::nullopt});
}
void Normalizer::replace(Regex from, std::string to) {
  steps_.push_back({Step::ReplaceMatches, "", std::move(to), std::move(from)});
}
void Normalizer::compose() {
  steps_.push_back({Step::Compose, "", "", std::nullopt});
}
void Normalizer::decompose() {
  steps_.push_back({Step::Decompose, "", "", std::nullopt});
}
Status Normalizer::strip(bool left, bool right) {
  for (const char *pattern : {left ? "\\A\\s+" : "", right ? "\\s+\\z" : ""}) {
    if (!*pattern)
      continue;
    TANDEM_ASSIGN(Regex regex, Regex::compile(pattern));
    replace(std::move(regex), "");
  }
  return Status();
}

Result<std::string> Normalizer::apply(std::string_view text) const {
  std::string result(text);
  for (const Step &step : steps_) {
    switch (step.kind) {
    case Step::Prepend:
      if (!result.empty())
        result.insert(0, step.to);
      break;
    case Step::Replace:
      result = replaced(result, step.from, step.to);
      break;
    case Step::ReplaceMatches: {
      TANDEM_ASSIGN(result, replaced(result, *step.regex, step.to));
      break;
    }
    case Step::Compose:
      result = unicode::composed(result);
      break;
    case Step::Decompose:
      result = unicode::decomposed(result);
      break;
    }
  }
  return result;
}

} // namespace tandem

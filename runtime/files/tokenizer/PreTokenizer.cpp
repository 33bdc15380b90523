#include "runtime/files/tokenizer/PreTokenizer.h"

#include "runtime/files/tokenizer/Normalizer.h"

namespace tandem {

const char *const gpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
    "|\\s+(?!\\S)|\\s+";

namespace {

/// A stretch of a piece: a match, or what lies between two.
struct Stretch {
  Range range;
  bool match;
};

/// All of `whole` as stretches, in order, none of them empty.
std::vector<Stretch> stretchesOf(Range whole, const std::vector<Range> &matches,
                                 bool invert) {
  std::vector<Stretch> result;
  size_t done = whole.begin;
  auto add = [&](size_t begin, size_t end, bool match) {
    if (end > begin)
      result.push_back({{begin, end}, match != invert});
  };
  for (Range match : matches) {
    add(done, match.begin, false);
    add(match.begin, match.end, true);
    done = match.end;
  }
  add(done, whole.end, false);
  return result;
}

/// Whether `next` continues the piece that ends with `last`.
bool joins(const Stretch &last, const Stretch &next, SplitBehavior behavior) {
  switch (behavior) {
  case SplitBehavior::MergedWithPrevious:
    return next.match && !last.match;
  case SplitBehavior::MergedWithNext:
    return last.match && !next.match;
  case SplitBehavior::Contiguous:
    return last.match == next.match;
  default:
    return false;
  }
}

void addPieces(const std::vector<Stretch> &stretches, SplitBehavior behavior,
               std::vector<Range> &pieces) {
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (stretches[i].match && behavior == SplitBehavior::Removed)
      continue;
    if (i > 0 && joins(stretches[i - 1], stretches[i], behavior))
      pieces.back().end = stretches[i].range.end;
    else
      pieces.push_back(stretches[i].range);
  }
}

} // namespace

void PreTokenizer::split(Regex regex, SplitBehavior behavior, bool invert) {
  Step step{Step::Split, std::move(regex)};
  step.behavior = behavior;
  step.invert = invert;
  steps_.push_back(std::move(step));
}

void PreTokenizer::prepend(std::string mark, PrependScheme scheme) {
  Step step{Step::Prepend, std::nullopt};
  step.mark = std::move(mark);
  step.scheme = scheme;
  steps_.push_back(std::move(step));
}

void PreTokenizer::replaceSpaces(std::string mark) {
  Step step{Step::ReplaceSpaces, std::nullopt};
  step.mark = std::move(mark);
  steps_.push_back(std::move(step));
}

Status PreTokenizer::applySplit(const Step &step, Pieces &pieces) {
  std::vector<Range> result, matches;
  RegexSearch search(*step.regex);
  for (Range piece : pieces.ranges) {
    matches.clear();
    TANDEM_TRY(search.findAll(pieces.text, piece, matches));
    addPieces(stretchesOf(piece, matches, step.invert), step.behavior, result);
  }
  pieces.ranges = std::move(result);
  return Status();
}

void PreTokenizer::applyRewriting(const Step &step, Pieces &pieces) {
  std::string text;
  bool first = pieces.atStart;
  for (Range &range : pieces.ranges) {
    std::string piece = pieces.text.substr(range.begin, range.size());
    if (step.kind == Step::ReplaceSpaces)
      piece = replaced(piece, " ", step.mark);
    else if ((step.scheme == PrependScheme::Always ||
              (step.scheme == PrependScheme::First && first)) &&
             piece.compare(0, step.mark.size(), step.mark) != 0)
      piece.insert(0, step.mark);
    first = false;
    range = {text.size(), text.size() + piece.size()};
    text += piece;
  }
  pieces.text = std::move(text);
}

Status PreTokenizer::apply(Pieces &pieces) const {
  for (const Step &step : steps_) {
    if (step.kind == Step::Split)
      TANDEM_TRY(applySplit(step, pieces));
    else
      applyRewriting(step, pieces);
  }
  return Status();
}

} // namespace tandem

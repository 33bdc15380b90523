// Changes text token by token, so that most of what comes out still parses:
// numbers become other numbers, words and names others of the same text, lines
// go, come twice or change places.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using Random = std::minstd_rand;

/// Characters from `begin` up to `end`.
struct Range {
  size_t begin, end;
};

enum class Kind { Number, Word, Mark };

Kind kindOf(char c) {
  if (std::isdigit(static_cast<unsigned char>(c)))
    return Kind::Number;
  bool word = std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
              c == '.' || c == '%' || c == '@' || c == '"';
  return word ? Kind::Word : Kind::Mark;
}

/// The tokens of one kind: runs of digits, runs of letters, single marks.
std::vector<Range> tokens(const std::string &text, Kind kind) {
  std::vector<Range> found;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i++;
    Kind here = kindOf(text[begin]);
    while (i < text.size() && here != Kind::Mark && kindOf(text[i]) == here)
      ++i;
    bool blank = std::isspace(static_cast<unsigned char>(text[begin]));
    if (here == kind && !blank)
      found.push_back({begin, i});
  }
  return found;
}

std::vector<Range> lines(const std::string &text) {
  std::vector<Range> found;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    found.push_back({begin, end});
    begin = end;
  }
  return found;
}

std::string textOf(const std::string &text, Range range) {
  return text.substr(range.begin, range.end - range.begin);
}

void replace(std::string &text, Range range, const std::string &by) {
  text.replace(range.begin, range.end - range.begin, by);
}

const Range &anyOf(const std::vector<Range> &ranges, Random &random) {
  return ranges[random() % ranges.size()];
}

void changeNumber(std::string &text, Random &random) {
  static const char *const numbers[] = {
      "0",          "1",          "2",
      "3",          "4",          "7",
      "16",         "64",         "65536",
      "2147483647", "2147483648", "4294967296",
      "-1",         "-2",         "9223372036854775807",
      "1.0e300",    "?",          "4611686018427387904"};
  std::vector<Range> found = tokens(text, Kind::Number);
  if (!found.empty())
    replace(text, anyOf(found, random),
            numbers[random() % (sizeof numbers / sizeof *numbers)]);
}

void changeToken(std::string &text, Kind kind, Random &random) {
  std::vector<Range> found = tokens(text, kind);
  if (!found.empty())
    replace(text, anyOf(found, random), textOf(text, anyOf(found, random)));
}

void changeLine(std::string &text, Random &random) {
  std::vector<Range> found = lines(text);
  if (found.empty())
    return;
  Range line = anyOf(found, random);
  std::string copy = textOf(text, line);
  switch (random() % 3) {
  case 0:
    return replace(text, line, "");
  case 1:
    return replace(text, line, copy + copy);
  default:
    replace(text, line, textOf(text, anyOf(found, random)));
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned int seed) {
  Random random(seed);
  if (random() % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (unsigned times = 1 + random() % 3; times > 0; --times)
    switch (random() % 5) {
    case 0:
    case 1:
      changeNumber(text, random);
      break;
    case 2:
      changeToken(text, Kind::Word, random);
      break;
    case 3:
      changeToken(text, Kind::Mark, random);
      break;
    default:
      changeLine(text, random);
    }
  text.resize(std::min(text.size(), maxSize));
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

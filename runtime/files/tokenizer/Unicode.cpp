#include "runtime/files/tokenizer/Unicode.h"

#include "runtime/files/Utf8.h"
#include "runtime/files/tokenizer/UnicodeTables.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace tandem::unicode {
namespace {

using CodePoints = std::vector<uint32_t>;

// Hangul syllables are laid out by rule: leading consonant, vowel, and one of
// 27 trailing consonants or none.
constexpr uint32_t syllables = 0xac00, leads = 0x1100, vowels = 0x1161,
                   trails = 0x11a7;
constexpr uint32_t leadCount = 19, vowelCount = 21, trailCount = 28;
constexpr uint32_t syllableCount = leadCount * vowelCount * trailCount;

const Decomposition *findDecomposition(uint32_t code) {
  const Decomposition *end = decompositions + decompositionCount;
  const Decomposition *it = std::lower_bound(
      decompositions, end, code,
      [](const Decomposition &row, uint32_t key) { return row.code < key; });
  return it != end && it->code == code ? it : nullptr;
}

uint8_t combiningClass(uint32_t code) {
  const CombiningClass *end = combiningClasses + combiningClassCount;
  const CombiningClass *it = std::lower_bound(
      combiningClasses, end, code,
      [](const CombiningClass &row, uint32_t key) { return row.last < key; });
  return it != end && it->first <= code ? it->value : 0;
}

void decompose(uint32_t code, CodePoints &out) {
  if (code >= syllables && code < syllables + syllableCount) {
    uint32_t index = code - syllables;
    out.push_back(leads + index / (vowelCount * trailCount));
    out.push_back(vowels + index / trailCount % vowelCount);
    if (index % trailCount != 0)
      out.push_back(trails + index % trailCount);
  } else if (const Decomposition *parts = findDecomposition(code)) {
    decompose(parts->first, out);
    if (parts->second)
      decompose(parts->second, out);
  } else {
    out.push_back(code);
  }
}

/// Puts each run of combining marks in the order of their classes.
void orderMarks(CodePoints &text) {
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && combiningClass(text[end]) != 0)
      ++end;
    std::stable_sort(text.begin() + i, text.begin() + end,
                     [](uint32_t a, uint32_t b) {
                       return combiningClass(a) < combiningClass(b);
                     });
    i = end + 1;
  }
}

CodePoints decomposedPoints(std::string_view text) {
  CodePoints points;
  points.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    utf8::Unit unit = utf8::unitAt(text, i);
    decompose(unit.codePoint, points);
    i += unit.length;
  }
  orderMarks(points);
  return points;
}

/// What pairs compose to.
class Compositions {
public:
  Compositions() {
    const uint32_t *end = compositionExclusions + compositionExclusionCount;
    for (size_t i = 0; i < decompositionCount; ++i) {
      const Decomposition &row = decompositions[i];
      if (row.second &&
          !std::binary_search(compositionExclusions, end, row.code))
        pairs_[key(row.first, row.second)] = row.code;
    }
  }
  /// The code point that `a` and `b` compose to, 0 where there is none.
  uint32_t find(uint32_t a, uint32_t b) const {
    if (a >= leads && a < leads + leadCount && b >= vowels &&
        b < vowels + vowelCount)
      return syllables + ((a - leads) * vowelCount + (b - vowels)) * trailCount;
    if (a >= syllables && a < syllables + syllableCount &&
        (a - syllables) % trailCount == 0 && b > trails &&
        b < trails + trailCount)
      return a + (b - trails);
    auto it = pairs_.find(key(a, b));
    return it == pairs_.end() ? 0 : it->second;
  }

private:
  static uint64_t key(uint32_t a, uint32_t b) {
    return static_cast<uint64_t>(a) << 32 | b;
  }
  std::unordered_map<uint64_t, uint32_t> pairs_;
};

std::string toUtf8(const CodePoints &points) {
  std::string text;
  for (uint32_t point : points)
    utf8::append(text, point);
  return text;
}

/// Whether `text` holds nothing that could change: no code point from U+0300
/// on, where combining marks begin.
bool isPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0xcc; });
}

} // namespace

std::string decomposed(std::string_view text) {
  return toUtf8(decomposedPoints(text));
}

std::string composed(std::string_view text) {
  if (isPlain(text))
    return std::string(text);
  static const Compositions compositions;
  CodePoints points = decomposedPoints(text), out;
  constexpr size_t none = SIZE_MAX;
  size_t starter = none;
  uint8_t last = 0; // the class of what was kept after the starter
  for (uint32_t point : points) {
    uint8_t mark = combiningClass(point);
    bool adjacent = starter != none && starter + 1 == out.size();
    bool blocked = !adjacent && (last == 0 || last >= mark);
    if (starter != none && !blocked)
      if (uint32_t joined = compositions.find(out[starter], point)) {
        out[starter] = joined;
        continue;
      }
    if (mark == 0)
      starter = out.size();
    last = mark;
    out.push_back(point);
  }
  return toUtf8(out);
}

} // namespace tandem::unicode

#include "runtime/files/tokenizer/BytePairs.h"

#include "runtime/files/Utf8.h"

#include <algorithm>

namespace tandem {
namespace {

uint64_t keyOf(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

/// Unknown to merges and vocabulary alike.
constexpr int32_t unknown = -1;

size_t lengthAt(std::string_view text, size_t at) {
  return utf8::unitAt(text, at).length;
}

} // namespace

BytePairs::BytePairs(Options options) : options_(options) { bytes_.fill(-1); }

void BytePairs::addToken(int32_t id, std::string_view symbols) {
  ids_.try_emplace(std::string(symbols), id);
}

void BytePairs::addByte(unsigned char byte, int32_t id) { bytes_[byte] = id; }

void BytePairs::addMerge(int32_t left, int32_t right, int32_t merged) {
  merges_.try_emplace(keyOf(left, right), Merge{nextRank_++, merged});
}

void BytePairs::addMergesByScore(const std::vector<double> &scores) {
  std::vector<std::pair<std::string_view, int32_t>> tokens(ids_.begin(),
                                                           ids_.end());
  // Tokens keep their place when single characters join the vocabulary.
  auto scoreOf = [&](int32_t id) { return scores[static_cast<size_t>(id)]; };
  std::sort(tokens.begin(), tokens.end(), [&](auto &a, auto &b) {
    return std::make_pair(-scoreOf(a.second), a.second) <
           std::make_pair(-scoreOf(b.second), b.second);
  });
  std::unordered_map<std::string, int32_t> symbols = ids_;
  auto symbolOf = [&](std::string_view text, bool single) {
    auto it = symbols.find(std::string(text));
    if (it != symbols.end())
      return it->second;
    if (!single)
      return unknown;
    extra_.emplace_back(text);
    int32_t symbol = -1 - static_cast<int32_t>(extra_.size());
    symbols.emplace(text, symbol);
    return symbol;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    auto [text, id] = tokens[i];
    if (i > 0 && scoreOf(id) != scoreOf(tokens[i - 1].second))
      ++nextRank_;
    size_t last = text.size();
    for (size_t cut = lengthAt(text, 0); cut < last;
         cut += lengthAt(text, cut)) {
      bool leftSingle = cut == lengthAt(text, 0);
      bool rightSingle = cut + lengthAt(text, cut) == last;
      int32_t left = symbolOf(text.substr(0, cut), leftSingle);
      int32_t right = symbolOf(text.substr(cut), rightSingle);
      if (left != unknown && right != unknown)
        merges_.try_emplace(keyOf(left, right), Merge{nextRank_, id});
    }
  }
  ids_ = std::move(symbols);
}

const BytePairs::Merge *BytePairs::find(int32_t left, int32_t right) const {
  auto it = merges_.find(keyOf(left, right));
  return it == merges_.end() ? nullptr : &it->second;
}

std::vector<BytePairs::Symbol>
BytePairs::symbolsOf(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  auto push = [&](int32_t id) {
    auto at = static_cast<int32_t>(symbols.size());
    symbols.push_back({id, at - 1, at + 1});
  };
  std::string key;
  for (size_t i = 0; i < word.size();) {
    size_t length = options_.byteLevel ? 1 : lengthAt(word, i);
    key.assign(word, i, length);
    auto it = ids_.find(key);
    bool spelled = it == ids_.end();
    for (char byte : key)
      spelled &= bytes_[static_cast<uint8_t>(byte)] >= 0;
    if (it != ids_.end())
      push(it->second);
    else if (spelled)
      for (char byte : key)
        push(bytes_[static_cast<uint8_t>(byte)]);
    else
      push(unknown);
    i += length;
  }
  if (!symbols.empty())
    symbols.back().next = -1;
  return symbols;
}

void BytePairs::queue(const std::vector<Symbol> &symbols, int32_t position,
                      std::vector<Candidate> &heap) const {
  if (position < 0 || symbols[position].next < 0)
    return;
  int32_t left = symbols[position].id;
  int32_t right = symbols[symbols[position].next].id;
  if (const Merge *merge = find(left, right)) {
    heap.push_back({merge->rank, position, left, right, merge->id});
    std::push_heap(heap.begin(), heap.end());
  }
}

void BytePairs::join(std::vector<Symbol> &symbols) const {
  std::vector<Candidate> heap;
  heap.reserve(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i)
    queue(symbols, static_cast<int32_t>(i), heap);
  // A symbol that was joined to its left neighbour has this id ever after.
  constexpr int32_t gone = INT32_MIN;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Candidate best = heap.back();
    heap.pop_back();
    Symbol &left = symbols[best.position];
    if (left.id != best.left || left.next < 0 ||
        symbols[left.next].id != best.right)
      continue;
    Symbol &right = symbols[left.next];
    left.id = best.merged;
    left.next = right.next;
    right.id = gone;
    if (left.next >= 0)
      symbols[left.next].previous = best.position;
    queue(symbols, left.previous, heap);
    queue(symbols, best.position, heap);
  }
}

void BytePairs::spell(int32_t symbol, std::vector<int32_t> &ids) const {
  // Only characters of scored vocabularies get here without being tokens.
  std::string_view text;
  if (symbol != unknown)
    text = extra_[static_cast<size_t>(-2 - symbol)];
  bool spelled = !text.empty();
  for (char byte : text)
    spelled &= bytes_[static_cast<uint8_t>(byte)] >= 0;
  if (spelled)
    for (char byte : text)
      ids.push_back(bytes_[static_cast<uint8_t>(byte)]);
  else if (options_.unknownId)
    ids.push_back(*options_.unknownId);
}

void BytePairs::encode(std::string_view word, std::vector<int32_t> &ids) const {
  if (word.empty())
    return;
  if (options_.ignoreMerges)
    if (auto it = ids_.find(std::string(word));
        it != ids_.end() && it->second >= 0)
      return ids.push_back(it->second);
  std::vector<Symbol> symbols = symbolsOf(word);
  join(symbols);
  bool previousUnknown = false;
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    int32_t id = symbols[i].id;
    bool isUnknown = id == unknown;
    if (id >= 0)
      ids.push_back(id);
    else if (!(isUnknown && previousUnknown && options_.fuseUnknown))
      spell(id, ids);
    previousUnknown = isUnknown;
  }
}

} // namespace tandem

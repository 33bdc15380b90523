#include "runtime/files/tokenizer/AddedTokens.h"

#include <algorithm>
#include <cassert>

namespace tandem {
namespace {

uint64_t keyOf(uint32_t node, char byte) {
  return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
}

/// Whether `pattern` matches somewhere in `text`; where, if so.
std::optional<Range> firstMatch(const char *pattern, std::string_view text) {
  // Compiled on use: few tokens ask for it.
  Result<Regex> regex = Regex::compile(pattern);
  std::vector<Range> matches;
  if (!regex.ok() ||
      !RegexSearch(*regex).findAll(text, {0, text.size()}, matches).ok() ||
      matches.empty())
    return std::nullopt;
  return matches.front();
}

/// A stretch of `text` around a token that is long enough to look at: the
/// white space and letters beside it, not the rest of the text.
constexpr size_t reach = 4096;
std::string_view before(std::string_view text, size_t begin) {
  size_t from = begin > reach ? begin - reach : 0;
  while (from < begin && (static_cast<uint8_t>(text[from]) & 0xc0) == 0x80)
    ++from;
  return text.substr(from, begin - from);
}
std::string_view behind(std::string_view text, size_t end) {
  size_t to = std::min(text.size(), end + reach);
  while (to < text.size() && (static_cast<uint8_t>(text[to]) & 0xc0) == 0x80)
    ++to;
  return text.substr(end, to - end);
}

bool standsAlone(std::string_view text, Range range) {
  return !firstMatch("\\w\\z", before(text, range.begin)) &&
         !firstMatch("\\A\\w", behind(text, range.end));
}

} // namespace

void AddedTokens::add(const AddedToken &token, const std::string &text) {
  assert(!text.empty() && "an empty token is everywhere");
  uint32_t node = root;
  for (char byte : text) {
    auto next = static_cast<uint32_t>(endsAt_.size());
    auto [it, isNew] = children_.try_emplace(keyOf(node, byte), next);
    if (isNew)
      endsAt_.push_back(-1);
    node = it->second;
  }
  starts_[static_cast<uint8_t>(text[0])] = true;
  endsAt_[node] = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
}

std::optional<std::pair<size_t, size_t>>
AddedTokens::longestAt(std::string_view text, size_t at) const {
  std::optional<std::pair<size_t, size_t>> best;
  uint32_t node = root;
  for (size_t i = at; i < text.size(); ++i) {
    auto it = children_.find(keyOf(node, text[i]));
    if (it == children_.end())
      break;
    node = it->second;
    if (endsAt_[node] >= 0)
      best = {static_cast<size_t>(endsAt_[node]), i + 1};
  }
  return best;
}

std::vector<AddedTokens::Section>
AddedTokens::split(std::string_view text) const {
  std::vector<Section> sections;
  size_t done = 0;
  auto upTo = [&](size_t end) {
    if (end > done)
      sections.push_back({{done, end}, -1});
  };
  for (size_t at = 0; at < text.size();) {
    std::optional<std::pair<size_t, size_t>> found;
    if (starts_[static_cast<uint8_t>(text[at])])
      found = longestAt(text, at);
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens_[found->first];
    Range range{at, found->second};
    at = range.end;
    if (token.singleWord && !standsAlone(text, range))
      continue;
    if (token.lstrip)
      if (auto space = firstMatch("\\s+\\z", before(text, range.begin)))
        range.begin = std::max(done, range.begin - space->size());
    if (token.rstrip)
      if (auto space = firstMatch("\\A\\s+", behind(text, range.end)))
        at = range.end = range.end + space->size();
    upTo(range.begin);
    sections.push_back({range, token.id});
    done = range.end;
  }
  upTo(text.size());
  return sections;
}

} // namespace tandem

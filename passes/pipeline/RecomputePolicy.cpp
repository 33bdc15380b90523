#include "passes/pipeline/RecomputePolicy.h"

#include <charconv>
#include <optional>

namespace tandem {
namespace {

std::optional<int64_t> numberOf(const std::string &text) {
  int64_t number = -1;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0)
    return std::nullopt;
  return number;
}

/// `3` or `5-7`; adds its layers. More than a million are a mistake.
bool addLayers(const std::string &text, std::set<int64_t> &layers) {
  size_t dash = text.find('-');
  auto first = numberOf(text.substr(0, dash));
  auto last =
      dash == std::string::npos ? first : numberOf(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > 1000000)
    return false;
  for (int64_t layer = *first; layer <= *last; ++layer)
    layers.insert(layer);
  return true;
}

} // namespace

Result<RecomputePolicy> RecomputePolicy::parse(const std::string &text) {
  RecomputePolicy policy;
  policy.attention = text == "selective";
  policy.allLayers = text == "full";
  if (text == "none" || policy.attention || policy.allLayers)
    return policy;
  for (size_t from = 0; from <= text.size();) {
    size_t to = std::min(text.find(',', from), text.size());
    if (!addLayers(text.substr(from, to - from), policy.layers))
      return Status::refused("recompute is '" + text +
                             "', expected none, selective, full or layers "
                             "such as 0,2,5-7");
    from = to + 1;
  }
  return policy;
}

} // namespace tandem

#include "tools/commands/Ids.h"

#include <charconv>

namespace tandem {

Result<std::vector<int32_t>> parseIds(const std::string &text) {
  std::vector<int32_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    int32_t id = -1;
    auto [next, error] = std::from_chars(at, end, id);
    bool separated = next == end || *next == ',';
    if (error != std::errc() || id < 0 || !separated)
      return Status::usage("'" + text +
                           "' is no list of ids; expected numbers and commas, "
                           "such as 1,2,3");
    ids.push_back(id);
    at = next == end ? end : next + 1;
  }
  return ids;
}

} // namespace tandem

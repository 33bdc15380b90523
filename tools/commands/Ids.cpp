#include "tools/commands/Ids.h"

#include <charconv>

namespace tandem {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr const char *blanks = " \t\r\n";
  size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// `text` without the brackets of a list.
std::string_view withoutBrackets(std::string_view text) {
  bool whole = text.size() >= 2 && text.front() == '[' && text.back() == ']';
  return whole ? trimmed(text.substr(1, text.size() - 2)) : text;
}

} // namespace

Result<std::vector<int32_t>> parseIds(const std::string &text) {
  std::vector<int32_t> ids;
  std::string_view rest = withoutBrackets(trimmed(text));
  for (bool more = !rest.empty(); more;) {
    size_t comma = rest.find(',');
    std::string_view word = trimmed(rest.substr(0, comma));
    int32_t id = -1;
    auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || id < 0 || end != word.data() + word.size())
      return Status::usage("'" + text + "' is no list of ids, got '" +
                           std::string(word) +
                           "' where a number from 0 to 2147483647 is expected; "
                           "write 1,2,3 or [1, 2, 3]");
    ids.push_back(id);
    more = comma != std::string_view::npos;
    if (more)
      rest.remove_prefix(comma + 1);
  }
  return ids;
}

} // namespace tandem

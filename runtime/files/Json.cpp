#include "runtime/files/Json.h"

#include "runtime/files/Utf8.h"

#include <unordered_set>

namespace tandem {
namespace {

using nlohmann::json;

constexpr int deepest = 100;

/// What the parser calls at each key and bracket; leaves by an exception,
/// which is the parser's only way to be stopped.
class Watch {
public:
  struct Stop {
    std::string message;
  };

  bool operator()(int depth, json::parse_event_t event, json &parsed) {
    if (event == json::parse_event_t::object_start)
      keys_.emplace_back();
    else if (event == json::parse_event_t::object_end)
      keys_.pop_back();
    else if (event == json::parse_event_t::key)
      seeKey(parsed.get_ref<const std::string &>());
    if (depth > deepest)
      throw Stop{"nested more than " + std::to_string(deepest) +
                 " levels deep"};
    return true;
  }

private:
  void seeKey(const std::string &key) {
    if (!keys_.back().insert(key).second)
      throw Stop{"the key '" + key + "' stands twice in one object"};
  }

  std::vector<std::unordered_set<std::string>> keys_;
};

/// nlohmann's text without its error number: "at line 3, column 9: ...", what
/// it quotes of the file, which may be all of it, cut short.
std::string reason(const json::exception &error) {
  constexpr size_t longest = 40;
  std::string text = error.what();
  size_t start = text.find("parse error ");
  if (start != std::string::npos)
    text.erase(0, start + 12);
  const std::string before = "last read: '";
  size_t quote = text.find(before), end = text.rfind('\'');
  if (quote != std::string::npos && end > quote + before.size() + longest) {
    quote += before.size();
    text.replace(quote, end - quote - longest, "...");
  }
  return utf8::repaired(text);
}

} // namespace

Result<json> parseJson(std::string_view text, const std::string &what) {
  Status failure;
  try {
    return json::parse(text.begin(), text.end(), Watch());
  } catch (const Watch::Stop &stop) {
    failure = Status::refused(what + ": " + stop.message);
  } catch (const json::exception &error) {
    failure = Status::refused(what + ": not valid JSON " + reason(error));
  } catch (const std::bad_alloc &) {
    failure = Status::refused(what + ": too large to be read as JSON");
  }
  return failure;
}

std::string describeJson(const json &value) {
  constexpr size_t longest = 40;
  switch (value.type()) {
  case json::value_t::null:
    return "null";
  case json::value_t::object:
    return "an object";
  case json::value_t::array:
    return "an array";
  case json::value_t::boolean:
    return value.get<bool>() ? "boolean true" : "boolean false";
  case json::value_t::string: {
    // error_handler replace: GGUF's strings may hold any bytes.
    std::string text =
        value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > longest)
      text = text.substr(0, longest - 4) + "...\"";
    return "string " + text;
  }
  default:
    return "number " + value.dump();
  }
}

} // namespace tandem

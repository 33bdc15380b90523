#include "runtime/files/ConfigNode.h"

#include "runtime/files/Json.h"
#include "runtime/files/MappedFile.h"

#include <cmath>

namespace tandem {

using nlohmann::json;

struct ConfigNode::Document {
  std::string file;
  json root;
};

ConfigNode::ConfigNode() : ConfigNode(fromJson(json::object(), "")) {}

ConfigNode ConfigNode::fromJson(json value, std::string file) {
  auto document = std::make_shared<const Document>(
      Document{std::move(file), std::move(value)});
  const json *root = &document->root;
  return ConfigNode(std::move(document), root, "");
}

Result<ConfigNode> ConfigNode::parse(std::string_view text, std::string file) {
  TANDEM_ASSIGN(json root, parseJson(text, file));
  return fromJson(std::move(root), std::move(file));
}

Result<ConfigNode> ConfigNode::read(const std::string &path) {
  TANDEM_ASSIGN(auto file, MappedFile::open(path));
  return parse(file->text(), path);
}

bool ConfigNode::isNull() const { return value_->is_null(); }
bool ConfigNode::isObject() const { return value_->is_object(); }
bool ConfigNode::isArray() const { return value_->is_array(); }
bool ConfigNode::isString() const { return value_->is_string(); }
bool ConfigNode::isNumber() const { return value_->is_number(); }
bool ConfigNode::isBoolean() const { return value_->is_boolean(); }

Result<int64_t> ConfigNode::asInteger() const {
  if (value_->is_number_unsigned()) {
    uint64_t value = value_->get<uint64_t>();
    if (value > static_cast<uint64_t>(INT64_MAX))
      return mismatch("an integer below 2^63");
    return static_cast<int64_t>(value);
  }
  if (value_->is_number_integer())
    return value_->get<int64_t>();
  if (value_->is_number_float()) {
    double value = value_->get<double>();
    // 2^53: beyond it a double no longer tells neighbours apart.
    if (value == std::trunc(value) && std::fabs(value) <= 0x1p53)
      return static_cast<int64_t>(value);
  }
  return mismatch("an integer");
}

Result<double> ConfigNode::asNumber() const {
  if (!value_->is_number())
    return mismatch("a number");
  return value_->get<double>();
}

Result<bool> ConfigNode::asBoolean() const {
  if (!value_->is_boolean())
    return mismatch("true or false");
  return value_->get<bool>();
}

Result<std::string> ConfigNode::asString() const {
  if (!value_->is_string())
    return mismatch("a string");
  return value_->get_ref<const std::string &>();
}

Result<std::vector<ConfigNode>> ConfigNode::asArray() const {
  if (!value_->is_array())
    return mismatch("an array");
  std::vector<ConfigNode> elements;
  elements.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i)
    elements.push_back(ConfigNode(document_, &(*value_)[i],
                                  path_ + "[" + std::to_string(i) + "]"));
  return elements;
}

namespace {

/// The elements of an array, each read by `read`.
template <typename T, typename Read>
Result<std::vector<T>> readAll(const ConfigNode &node, Read read) {
  TANDEM_ASSIGN(std::vector<ConfigNode> elements, node.asArray());
  std::vector<T> values;
  values.reserve(elements.size());
  for (const ConfigNode &element : elements) {
    TANDEM_ASSIGN(T value, read(element));
    values.push_back(std::move(value));
  }
  return values;
}

} // namespace

Result<std::vector<int64_t>> ConfigNode::asIntegers() const {
  return readAll<int64_t>(*this, [](auto &node) { return node.asInteger(); });
}
Result<std::vector<double>> ConfigNode::asNumbers() const {
  return readAll<double>(*this, [](auto &node) { return node.asNumber(); });
}
Result<std::vector<std::string>> ConfigNode::asStrings() const {
  return readAll<std::string>(*this,
                              [](auto &node) { return node.asString(); });
}

bool ConfigNode::has(std::string_view key) const {
  return find(key).has_value();
}

std::optional<ConfigNode> ConfigNode::find(std::string_view key) const {
  if (!value_->is_object())
    return std::nullopt;
  auto it = value_->find(std::string(key));
  if (it == value_->end() || it->is_null())
    return std::nullopt;
  return child(key, *it);
}

Result<ConfigNode> ConfigNode::at(std::string_view key) const {
  if (!value_->is_object())
    return mismatch("an object");
  if (std::optional<ConfigNode> found = find(key))
    return *found;
  return error("the key '" + std::string(key) + "' is missing");
}

std::vector<std::string> ConfigNode::keys() const {
  std::vector<std::string> keys;
  if (value_->is_object())
    for (auto it = value_->begin(); it != value_->end(); ++it)
      keys.push_back(it.key());
  return keys;
}

Result<int64_t> ConfigNode::integer(std::string_view key) const {
  TANDEM_ASSIGN(ConfigNode node, at(key));
  return node.asInteger();
}
Result<double> ConfigNode::number(std::string_view key) const {
  TANDEM_ASSIGN(ConfigNode node, at(key));
  return node.asNumber();
}
Result<bool> ConfigNode::boolean(std::string_view key) const {
  TANDEM_ASSIGN(ConfigNode node, at(key));
  return node.asBoolean();
}
Result<std::string> ConfigNode::string(std::string_view key) const {
  TANDEM_ASSIGN(ConfigNode node, at(key));
  return node.asString();
}

Result<int64_t> ConfigNode::integerOr(std::string_view key,
                                      int64_t otherwise) const {
  std::optional<ConfigNode> node = find(key);
  return node ? node->asInteger() : otherwise;
}
Result<double> ConfigNode::numberOr(std::string_view key,
                                    double otherwise) const {
  std::optional<ConfigNode> node = find(key);
  return node ? node->asNumber() : otherwise;
}
Result<bool> ConfigNode::booleanOr(std::string_view key, bool otherwise) const {
  std::optional<ConfigNode> node = find(key);
  return node ? node->asBoolean() : otherwise;
}
Result<std::string> ConfigNode::stringOr(std::string_view key,
                                         std::string otherwise) const {
  std::optional<ConfigNode> node = find(key);
  return node ? node->asString() : Result<std::string>(std::move(otherwise));
}

Status ConfigNode::set(std::string_view path, std::string_view text) {
  if (!path_.empty())
    return error("only the file's root takes settings");
  Result<json> parsed = parseJson(text, "");
  json value = parsed.ok() ? *parsed : json(std::string(text));
  json root = *value_;
  json *place = &root;
  for (std::string_view rest = path;;) {
    size_t dot = rest.find('.');
    std::string key(rest.substr(0, dot));
    if (key.empty())
      return error("'" + std::string(path) + "' is no key path");
    if (!place->is_object() && !place->is_null())
      return error("'" + std::string(path) + "' leads into " +
                   describeJson(*place) + ", which has no keys");
    place = &(*place)[key];
    if (dot == std::string_view::npos)
      break;
    rest.remove_prefix(dot + 1);
  }
  *place = std::move(value);
  *this = fromJson(std::move(root), document_->file);
  return Status();
}

const std::string &ConfigNode::file() const { return document_->file; }

std::string ConfigNode::where() const {
  return path_.empty() ? document_->file : document_->file + ": " + path_;
}

Status ConfigNode::error(const std::string &what) const {
  return Status::refused(where() + ": " + what);
}

Status ConfigNode::mismatch(const char *expected) const {
  return error(std::string("expected ") + expected + ", got " +
               describeJson(*value_));
}

ConfigNode ConfigNode::child(std::string_view key, const json &value) const {
  std::string path =
      path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  return ConfigNode(document_, &value, std::move(path));
}

} // namespace tandem

#include "frontend/KeyReader.h"

#include "runtime/files/Json.h"

#include <cmath>

namespace tandem {
namespace {

constexpr int64_t kLargestSize = int64_t(1) << 31;

} // namespace

std::string spelled(const Architecture &family, const std::string &name) {
  return name[0] == '$' ? family.name + name.substr(1) : name;
}

std::optional<ConfigNode> KeyReader::find(const std::string &name) const {
  std::string path = spelled(family_, name);
  size_t slash = path.find('/');
  if (slash == std::string::npos)
    return config().find(path);
  std::optional<ConfigNode> outer = config().find(path.substr(0, slash));
  return outer ? outer->find(path.substr(slash + 1)) : std::nullopt;
}

std::optional<ConfigNode> KeyReader::find(const Key &key) const {
  for (const std::string &name : key.names)
    if (std::optional<ConfigNode> node = find(name))
      return node;
  return std::nullopt;
}

Result<ConfigNode> KeyReader::demand(const Key &key) const {
  if (std::optional<ConfigNode> node = find(key))
    return *node;
  return config().at(spelled(family_, key.names[0]));
}

Status KeyReader::error(const Key &key, const std::string &what) const {
  if (std::optional<ConfigNode> node = find(key))
    return node->error(what);
  return config().error(
      (key.names.empty() ? "" : spelled(family_, key.names[0]) + ": ") + what);
}

Result<double> KeyReader::number(const Key &key, double otherwise) const {
  std::optional<ConfigNode> node = find(key);
  if (!node)
    return key.otherwise.value_or(otherwise);
  TANDEM_ASSIGN(double value, node->asNumber());
  if (!std::isfinite(value))
    return node->error("expected a finite number");
  return value;
}

Result<double> KeyReader::positive(const Key &key, double otherwise) const {
  TANDEM_ASSIGN(double value, number(key, otherwise));
  if (value > 0)
    return value;
  return error(key, "expected a number above 0");
}

bool KeyReader::isNull(const Key &key) const {
  for (const std::string &name : key.names)
    if (config().value().contains(name) && !config().has(name))
      return true;
  return false;
}

Result<double> KeyReader::numberOrNone(const Key &key) const {
  if (isNull(key))
    return 0.0;
  return number(key, 0);
}

Result<bool> KeyReader::flag(const Key &key, bool otherwise) const {
  std::optional<ConfigNode> node = find(key);
  if (!node)
    return key.otherwise.value_or(otherwise) != 0;
  return node->asBoolean();
}

Result<int64_t> KeyReader::size(const Key &key, int64_t otherwise) const {
  if (key.otherwise && otherwise == 0)
    otherwise = static_cast<int64_t>(*key.otherwise);
  if (otherwise != 0 && !find(key))
    return otherwise;
  TANDEM_ASSIGN(ConfigNode node, demand(key));
  TANDEM_ASSIGN(int64_t value, node.asInteger());
  if (value < 1 || value > kLargestSize)
    return node.error("expected a size of 1 to " +
                      std::to_string(kLargestSize) + ", got " +
                      std::to_string(value));
  return value;
}

} // namespace tandem

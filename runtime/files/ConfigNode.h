//===- ConfigNode.h - Settings with their place in a file -------*- C++ -*-===//
//
// A value of a settings file (config.json, a GGUF's metadata) that knows
// where it stands, so that whoever finds it wrong says so by name:
//
//   TANDEM_ASSIGN(ConfigNode config, ConfigNode::read("config.json"));
//   TANDEM_ASSIGN(int64_t heads, config.integer("num_attention_heads"));
//   TANDEM_ASSIGN(ConfigNode rope, config.at("rope_scaling"));
//   TANDEM_ASSIGN(double factor, rope.number("factor"));
//     // config.json: rope_scaling.factor: expected a number,
//     // got string "eight"
//
// A key whose value is null counts as absent: writers use both for "unset".
// Integers are numbers; a number without a fraction is an integer.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CONFIGNODE_H
#define TANDEM_RUNTIME_FILES_CONFIGNODE_H

#include "runtime/base/Status.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace tandem {

class ConfigNode {
public:
  /// An empty object of no file.
  ConfigNode();

  /// Parses `text`; `file` names it in messages.
  static Result<ConfigNode> parse(std::string_view text, std::string file);
  /// Reads and parses the file `path`.
  static Result<ConfigNode> read(const std::string &path);
  /// Wraps a value that was built elsewhere.
  static ConfigNode fromJson(nlohmann::json value, std::string file);

  bool isNull() const;
  bool isObject() const;
  bool isArray() const;
  bool isString() const;
  bool isNumber() const;
  bool isBoolean() const;

  // The node itself as a value of that kind.
  Result<int64_t> asInteger() const;
  Result<double> asNumber() const;
  Result<bool> asBoolean() const;
  Result<std::string> asString() const;
  /// Elements of an array.
  Result<std::vector<ConfigNode>> asArray() const;
  Result<std::vector<int64_t>> asIntegers() const;
  Result<std::vector<double>> asNumbers() const;
  Result<std::vector<std::string>> asStrings() const;

  /// Whether this is an object in which `key` is there and not null.
  bool has(std::string_view key) const;
  /// The value of `key`; an error where this is no object or has it not.
  Result<ConfigNode> at(std::string_view key) const;
  /// The value of `key`, nothing where it is absent or null.
  std::optional<ConfigNode> find(std::string_view key) const;
  /// Keys of an object in their order; empty for anything else.
  std::vector<std::string> keys() const;

  // The value of `key` of that kind; an error where it is absent.
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  // The same, `otherwise` where it is absent.
  Result<int64_t> integerOr(std::string_view key, int64_t otherwise) const;
  Result<double> numberOr(std::string_view key, double otherwise) const;
  Result<bool> booleanOr(std::string_view key, bool otherwise) const;
  Result<std::string> stringOr(std::string_view key,
                               std::string otherwise) const;

  /// Sets the value that `path` (keys with dots between) names in the whole
  /// file's object, creating objects on the way; `text` is read as JSON and,
  /// where it is none, taken as a string. Other copies of this node keep what
  /// they had. This node must be a file's root.
  Status set(std::string_view path, std::string_view text);

  /// `FILE: KEY.PATH`, or the file alone for its root.
  std::string where() const;
  const std::string &file() const;
  /// A refusal of this node: its place in front of `what`.
  Status error(const std::string &what) const;

  /// The value itself, for what the accessors do not cover.
  const nlohmann::json &value() const { return *value_; }

private:
  struct Document;
  ConfigNode(std::shared_ptr<const Document> document,
             const nlohmann::json *value, std::string path)
      : document_(std::move(document)), value_(value), path_(std::move(path)) {}
  ConfigNode child(std::string_view key, const nlohmann::json &value) const;
  Status mismatch(const char *expected) const;

  std::shared_ptr<const Document> document_;
  const nlohmann::json *value_;
  std::string path_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CONFIGNODE_H

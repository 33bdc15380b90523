//===- KeyReader.h - A family's keys in one configuration -------*- C++ -*-===//
//
// Reads the settings that a row of the table names, under whichever of their
// names the file uses, and says by file and key what is wrong with one:
//
//   KeyReader keys(family, model);
//   TANDEM_ASSIGN(int64_t hidden, keys.size(family.keys.hidden));
//     // config.json: hidden_size: expected a size of 1 to 2147483648, got 0
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_KEYREADER_H
#define TANDEM_FRONTEND_KEYREADER_H

#include "frontend/Architecture.h"

namespace tandem {

class KeyReader {
public:
  /// Both must outlive it.
  KeyReader(const Architecture &family, const ModelFiles &model)
      : family_(family), model_(model) {}

  const ConfigNode &config() const { return model_.config; }

  /// The setting of that name, `/` and `$` as in `Key`.
  std::optional<ConfigNode> find(const std::string &name) const;
  std::optional<ConfigNode> find(const Key &key) const;
  /// The node, an error that names the key's first name where it is absent.
  Result<ConfigNode> demand(const Key &key) const;
  /// An error at the key where the file has it, else at the file.
  Status error(const Key &key, const std::string &what) const;

  Result<double> number(const Key &key, double otherwise) const;
  /// The same, refusing 0 and less.
  Result<double> positive(const Key &key, double otherwise) const;
  /// The same for a setting that null turns off: 0.
  Result<double> numberOrNone(const Key &key) const;
  Result<bool> flag(const Key &key, bool otherwise) const;
  /// A size of at least 1; where absent `otherwise`, or what the key says.
  Result<int64_t> size(const Key &key, int64_t otherwise = 0) const;
  /// Whether the file says null, which is not the same as nothing.
  bool isNull(const Key &key) const;

private:
  const Architecture &family_;
  const ModelFiles &model_;
};

/// `name` with the family's for a leading `$`.
std::string spelled(const Architecture &family, const std::string &name);

} // namespace tandem

#endif // TANDEM_FRONTEND_KEYREADER_H

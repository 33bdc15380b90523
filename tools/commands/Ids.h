//===- Ids.h - Lists of token ids as text -----------------------*- C++ -*-===//

#ifndef TANDEM_TOOLS_COMMANDS_IDS_H
#define TANDEM_TOOLS_COMMANDS_IDS_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

/// `1,2,3` or `[1, 2, 3]`, as printIds writes it; refuses what is no list of
/// numbers from 0 to 2^31 - 1.
Result<std::vector<int32_t>> parseIds(const std::string &text);
/// `[1, 2, 3]`
template <typename Id> std::string printIds(const std::vector<Id> &ids) {
  std::string text = "[";
  for (size_t i = 0; i < ids.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ids[i]);
  return text + "]";
}

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_IDS_H

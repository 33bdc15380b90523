#include "runtime/base/Status.h"

namespace tandem {

std::string Status::toString() const {
  if (ok())
    return "ok";
  std::string text = message_;
  std::string where;
  auto add = [&](const std::string &part) {
    where += (where.empty() ? "" : ", ") + part;
  };
  if (rank >= 0)
    add("rank " + std::to_string(rank));
  if (step >= 0)
    add("step " + std::to_string(step));
  if (!instruction.empty())
    add("instruction " + instruction);
  if (!location.empty())
    add("location " + location);
  return where.empty() ? text : text + " (" + where + ")";
}

} // namespace tandem

#include "runtime/comm/control/Launcher.h"

#include <cstdlib>

namespace tandem {
namespace {

/// A count of at least 1, or 0 for what is none.
int64_t countIn(const char *text) {
  char *end = nullptr;
  long long value = text ? std::strtoll(text, &end, 10) : 0;
  return text && *text && !*end && value > 0 ? value : 0;
}

} // namespace

LauncherReport
detectLauncher(const std::function<const char *(const char *)> &get) {
  for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (int64_t count = countIn(get(variable)))
      return {count > 1 ? variable : "", count};
  // PMIx says which rank this is and leaves the number to the library.
  if (get("PMIX_RANK"))
    return {"PMIX_RANK", 0};
  return {};
}

LauncherReport detectLauncher() {
  return detectLauncher([](const char *name) { return std::getenv(name); });
}

} // namespace tandem

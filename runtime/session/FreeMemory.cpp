#include "runtime/session/FreeMemory.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace tandem {
namespace {

/// The number that follows `key` on a line of its own: `MemAvailable:  12 kB`.
std::optional<uint64_t> numberOf(const std::string &path,
                                 const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t number;
    if (words >> word && word == key && words >> number)
      return number;
  }
  return std::nullopt;
}

/// The only number of a file; nothing for `max`.
std::optional<uint64_t> numberIn(const std::string &path) {
  std::ifstream file(path);
  uint64_t number;
  return file >> number ? std::optional<uint64_t>(number) : std::nullopt;
}

/// The files of a version of control groups.
struct Groups {
  const char *controller; ///< As /proc/self/cgroup names it.
  const char *mount, *limit, *usage, *reclaimable;
};
constexpr Groups versions[] = {
    {"", "/sys/fs/cgroup", "/memory.max", "/memory.current", "inactive_file"},
    {"memory", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
     "/memory.usage_in_bytes", "total_inactive_file"}};

/// What the group in `folder` leaves, caches counted as free.
uint64_t leftIn(const std::string &folder, const Groups &groups) {
  std::optional<uint64_t> limit = numberIn(folder + groups.limit);
  std::optional<uint64_t> usage = numberIn(folder + groups.usage);
  if (!limit || !usage)
    return UINT64_MAX;
  uint64_t cached =
      numberOf(folder + "/memory.stat", groups.reclaimable).value_or(0);
  uint64_t used = *usage - std::min(*usage, cached);
  return *limit - std::min(*limit, used);
}

/// The least that the group `path` and those around it leave.
uint64_t leftInAll(const std::string &mount, std::string path,
                   const Groups &groups) {
  uint64_t left = leftIn(mount, groups);
  for (; path.size() > 1; path.erase(path.rfind('/')))
    left = std::min(left, leftIn(mount + path, groups));
  return left;
}

bool hasWord(const std::string &list, const std::string &word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

} // namespace

uint64_t freeMemory(const std::string &root) {
  uint64_t left = UINT64_MAX;
  if (auto kilobytes = numberOf(root + "/proc/meminfo", "MemAvailable:"))
    left = *kilobytes * 1024;
  // Lines such as `0::/user.slice` and `5:memory:/user.slice`.
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    for (const Groups &groups : versions)
      if (hasWord(controllers, groups.controller))
        left = std::min(left, leftInAll(root + groups.mount,
                                        line.substr(second + 1), groups));
  }
  return left;
}

} // namespace tandem

#include "passes/partition/Layout.h"

namespace tandem {

const Result<ReshardPath> &ReshardPaths::get(const TensorType &from,
                                             const TensorType &to) {
  std::string key = from.toString(mesh) + " to " + to.toString(mesh);
  auto it = paths.find(key);
  if (it == paths.end())
    it = paths.emplace(std::move(key), planReshard(from, to, mesh)).first;
  return it->second;
}

int64_t ReshardPaths::cost(const TensorType &from, const TensorType &to) {
  if (from == to)
    return 0;
  const Result<ReshardPath> &path = get(from, to);
  return path.ok() ? path->wireBytes : INT64_MAX / 1024;
}

} // namespace tandem

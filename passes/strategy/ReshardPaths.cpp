#include "passes/strategy/ReshardPaths.h"

#include <cassert>

namespace tandem {
namespace {

uint64_t pairOf(int from, int to) {
  return static_cast<uint64_t>(from) << 32 | static_cast<uint32_t>(to);
}

void put(std::string &key, int64_t number) {
  key.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void put(std::string &key, const AxisList &axes) {
  for (const AxisRef &axis : axes) {
    key += axis.name;
    key += '\0';
    put(key, axis.preSize);
    put(key, axis.size);
  }
  key += '|';
}

} // namespace

int ReshardPaths::numberOf(const TensorType &type) {
  std::string key;
  put(key, static_cast<int64_t>(type.dtype) * 8 +
               static_cast<int64_t>(type.reduction));
  for (size_t d = 0; d < type.shape.size(); ++d) {
    put(key, type.shape[d]);
    put(key, type.sharding.dims[d].axes);
  }
  put(key, type.sharding.unreduced);
  auto [it, added] =
      numbers.try_emplace(std::move(key), static_cast<int>(types.size()));
  if (added)
    types.push_back(type);
  return it->second;
}

const Result<ReshardPath> &ReshardPaths::get(int from, int to) {
  auto it = paths.find(pairOf(from, to));
  if (it == paths.end())
    it = paths
             .emplace(pairOf(from, to),
                      planReshard(types[from], types[to], mesh))
             .first;
  return it->second;
}

const Result<ReshardPath> &ReshardPaths::get(const TensorType &from,
                                             const TensorType &to) {
  return get(numberOf(from), numberOf(to));
}

ReshardPaths::Cost ReshardPaths::cost(int from, int to) {
  if (from == to)
    return {};
  const Result<ReshardPath> &path = get(from, to);
  if (!path.ok())
    return {-1, 0};
  return {path->wireBytes, static_cast<int64_t>(path->steps.size())};
}

/// A tree grows by one layout at a time.
std::vector<ReshardPaths::Grown>
ReshardPaths::grow(int from, const std::vector<int> &targets) {
  size_t count = targets.size();
  assert(count <= kMostTargets);
  // From the value, then from each target, to each target.
  std::vector<Cost> costs;
  for (int target : targets)
    costs.push_back(cost(from, target));
  for (int source : targets)
    for (int target : targets)
      costs.push_back(cost(source, target));
  std::vector<Grown> by(size_t(1) << count);
  by[0].cost = {};
  for (size_t set = 0; set < by.size(); ++set) {
    if (by[set].cost.bytes < 0)
      continue;
    for (size_t t = 0; t < count; ++t) {
      if (set >> t & 1)
        continue;
      for (int parent = -1; parent < static_cast<int>(count); ++parent) {
        if (parent >= 0 && !(set >> parent & 1))
          continue;
        const Cost &more = costs[(parent + 1) * count + t];
        if (more.bytes < 0)
          continue;
        Cost sum{by[set].cost.bytes + more.bytes,
                 by[set].cost.steps + more.steps};
        Grown &next = by[set | size_t(1) << t];
        if (next.cost.bytes < 0 || sum < next.cost)
          next = {sum, static_cast<int>(t), parent};
      }
    }
  }
  return by;
}

std::vector<ReshardPaths::Cost>
ReshardPaths::treeCosts(int from, const std::vector<int> &targets) {
  std::vector<Cost> costs;
  for (const Grown &grown : grow(from, targets))
    costs.push_back(grown.cost);
  return costs;
}

std::optional<ReshardPaths::Tree>
ReshardPaths::star(int from, const std::vector<int> &targets) {
  Tree tree{{}, std::vector<int>(targets.size(), -1), {}};
  for (size_t t = 0; t < targets.size(); ++t) {
    Cost more = cost(from, targets[t]);
    if (more.bytes < 0)
      return std::nullopt;
    tree.cost.bytes += more.bytes;
    tree.cost.steps += more.steps;
    tree.order.push_back(static_cast<int>(t));
  }
  return tree;
}

std::optional<ReshardPaths::Tree>
ReshardPaths::tree(int from, const std::vector<int> &targets) {
  size_t count = targets.size();
  if (count > kMostTargets)
    return star(from, targets);
  std::vector<Grown> by = grow(from, targets);
  if (by.back().cost.bytes < 0)
    return std::nullopt;
  Tree tree{by.back().cost, std::vector<int>(count, -1), {}};
  for (size_t set = by.size() - 1; set > 0;) {
    const Grown &grown = by[set];
    tree.parents[grown.last] = grown.parent;
    tree.order.insert(tree.order.begin(), grown.last);
    set &= ~(size_t(1) << grown.last);
  }
  return tree;
}

} // namespace tandem

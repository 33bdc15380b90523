#include "passes/strategy/ReshardPath.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace tandem {
namespace {

/// A layout reached, and how.
struct Node {
  TensorType type;
  int64_t cost = 0; ///< Wire bytes, and one for each collective.
  int64_t wireBytes = 0;
  int parent = -1;
  Collective collective;
};

std::string keyOf(const TensorType &type, const Mesh &mesh) {
  return toString(type.sharding, mesh);
}

/// Spells `axes` with the cuts that `goal` has, where that changes no piece.
AxisList spelledLike(int64_t size, const AxisList &axes, const AxisList &goal) {
  AxisList spelled;
  for (const AxisRef &axis : axes) {
    AxisRef rest = axis;
    for (const AxisRef &other : goal) {
      bool leads = other.name == rest.name && other.preSize == rest.preSize &&
                   other.size < rest.size && rest.size % other.size == 0;
      if (!leads)
        continue;
      spelled.push_back(other);
      rest.preSize *= other.size;
      rest.size /= other.size;
    }
    spelled.push_back(rest);
  }
  return sameSplit(size, spelled, axes) ? spelled : axes;
}

class Search {
public:
  Search(const TensorType &from, const TensorType &to, const Mesh &mesh)
      : to(to), mesh(mesh) {
    TensorType start = from;
    AxisList all;
    for (const DimSharding &dim : to.sharding.dims)
      all.insert(all.end(), dim.axes.begin(), dim.axes.end());
    for (size_t d = 0; d < start.shape.size(); ++d)
      start.sharding.dims[d].axes =
          spelledLike(start.shape[d], start.sharding.dims[d].axes, all);
    AxisList unreduced;
    for (const AxisRef &axis : start.sharding.unreduced)
      for (const AxisRef &part : spelledLike(0, {axis}, all))
        unreduced.push_back(part);
    start.sharding.unreduced = unreduced;
    nodes.push_back({start, 0, 0, -1, {}});
    queue.push({0, 0});
  }

  Result<ReshardPath> run() {
    while (!queue.empty()) {
      auto [cost, index] = queue.top();
      queue.pop();
      if (!done.insert(keyOf(nodes[index].type, mesh)).second)
        continue;
      if (nodes[index].type == to)
        return pathTo(index);
      expand(index);
    }
    return Status::refused("cannot bring " + nodes[0].type.toString(mesh) +
                           " to " + to.toString(mesh));
  }

private:
  void expand(int index) {
    // A copy: `reach` grows `nodes`.
    const Sharding now = nodes[index].type.sharding;
    reduce(index, now);
    for (size_t d = 0; d < now.dims.size(); ++d) {
      gather(index, now, d);
      extend(index, now, d);
    }
    finish(index);
  }

  /// What the goal does not leave unreduced is reduced at once.
  void reduce(int index, const Sharding &now) {
    AxisList axes;
    for (const AxisRef &axis : now.unreduced)
      if (!overlaps(to.sharding.unreduced, axis))
        axes.push_back(axis);
    if (!axes.empty())
      reach(index, {CollectiveKind::AllReduce, axes});
    // All of these but one that a dimension can take.
    for (const AxisRef &axis : axes) {
      AxisList others;
      for (const AxisRef &other : axes)
        if (other != axis)
          others.push_back(other);
      if (!others.empty())
        reach(index, {CollectiveKind::AllReduce, others});
    }
  }

  void gather(int index, const Sharding &now, size_t d) {
    const AxisList &axes = now.dims[d].axes;
    AxisList suffix;
    for (size_t count = 1; count <= axes.size(); ++count) {
      suffix.insert(suffix.begin(), axes[axes.size() - count]);
      reach(index, {CollectiveKind::AllGather, suffix, d});
    }
  }

  /// Appends what the goal wants next on dimension `d`.
  void extend(int index, const Sharding &now, size_t d) {
    const AxisList &axes = now.dims[d].axes, &goal = to.sharding.dims[d].axes;
    if (axes.size() >= goal.size() ||
        !std::equal(axes.begin(), axes.end(), goal.begin()))
      return;
    AxisList next{goal[axes.size()]};
    const AxisRef &axis = next.front();
    if (std::find(now.unreduced.begin(), now.unreduced.end(), axis) !=
        now.unreduced.end()) {
      reach(index, {CollectiveKind::ReduceScatter, next, d, 0,
                    nodes[index].type.reduction});
      return;
    }
    if (overlaps(now.unreduced, axis))
      return;
    for (size_t s = 0; s < now.dims.size(); ++s) {
      if (!overlaps(now.dims[s].axes, axis))
        continue;
      if (s != d && now.dims[s].axes.back() == axis)
        reach(index, {CollectiveKind::AllToAll, next, d, s});
      return;
    }
    reach(index, {CollectiveKind::AllSlice, next, d});
  }

  void finish(int index) {
    const TensorType &now = nodes[index].type;
    if (now.localShape() != to.localShape())
      return;
    AxisList axes;
    for (size_t d = 0; d < now.shape.size(); ++d)
      for (const auto *list :
           {&now.sharding.dims[d].axes, &to.sharding.dims[d].axes})
        for (const AxisRef &axis : *list)
          if (!overlaps(axes, axis))
            axes.push_back(axis);
    Collective permute{CollectiveKind::Permute, axes};
    if (!axes.empty() && checkCollective(permute, now, to, mesh).ok())
      add(index, permute, to);
  }

  void reach(int index, Collective collective) {
    collective.reduction = nodes[index].type.reduction;
    Result<TensorType> type = resultType(collective, nodes[index].type, mesh);
    if (type.ok())
      add(index, collective, *type);
  }

  void add(int index, const Collective &collective, const TensorType &type) {
    if (done.count(keyOf(type, mesh)))
      return;
    int64_t bytes = trafficOf(collective.kind, sizeOf(collective.axes),
                              nodes[index].type.localBytes())
                        .wireBytes;
    Node node{type, nodes[index].cost + bytes + 1,
              nodes[index].wireBytes + bytes, index, collective};
    queue.push({node.cost, static_cast<int>(nodes.size())});
    nodes.push_back(std::move(node));
  }

  ReshardPath pathTo(int index) const {
    ReshardPath path;
    path.wireBytes = nodes[index].wireBytes;
    for (; nodes[index].parent >= 0; index = nodes[index].parent)
      path.steps.push_back({nodes[index].collective, nodes[index].type});
    std::reverse(path.steps.begin(), path.steps.end());
    // The goal's own spelling, which later collectives see.
    if (!path.steps.empty())
      path.steps.back().result = to;
    return path;
  }

  using Entry = std::pair<int64_t, int>; // cost, node; earlier nodes first
  const TensorType &to;
  const Mesh &mesh;
  std::vector<Node> nodes;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::set<std::string> done;
};

} // namespace

Result<ReshardPath> planReshard(const TensorType &from, const TensorType &to,
                                const Mesh &mesh) {
  if (from == to)
    return ReshardPath();
  return Search(from, to, mesh).run();
}

} // namespace tandem

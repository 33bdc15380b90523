#include "ir/Collectives.h"

#include <algorithm>
#include <optional>

namespace tandem {
namespace {

/// Whether `inner` is a part of `outer`.
bool contains(const AxisRef &outer, const AxisRef &inner) {
  return outer.name == inner.name && inner.preSize % outer.preSize == 0 &&
         (outer.preSize * outer.size) % (inner.preSize * inner.size) == 0;
}

/// Adds a part, unless it has one position only.
void append(AxisList &axes, const AxisRef &part) {
  if (part.size > 1)
    axes.push_back(part);
}

/// What of `outer` is major and minor to `inner`, a part of it.
AxisList around(const AxisRef &outer, const AxisRef &inner) {
  AxisList rest;
  append(rest, {outer.name, outer.preSize, inner.preSize / outer.preSize});
  int64_t end = inner.preSize * inner.size;
  append(rest, {outer.name, end, outer.preSize * outer.size / end});
  return rest;
}

AxisList sorted(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return merged(axes);
}

std::string textOf(const AxisList &axes, const Mesh &mesh) {
  std::string text = "<";
  for (size_t i = 0; i < axes.size(); ++i)
    text += (i ? ", " : "") + toString(axes[i], mesh);
  return text + ">";
}

Status checkDim(int64_t dim, const char *name, const Sharding &input) {
  int64_t rank = static_cast<int64_t>(input.dims.size());
  if (dim >= 0 && dim < rank)
    return Status();
  return Status::refused(std::string(name) + " is " + std::to_string(dim) +
                         ", expected 0 to " + std::to_string(rank - 1));
}

/// All that splits or leaves the tensor unreduced.
AxisList usedAxes(const Sharding &sharding) {
  AxisList used = sharding.unreduced;
  for (const DimSharding &dim : sharding.dims)
    used.insert(used.end(), dim.axes.begin(), dim.axes.end());
  return used;
}

/// One collective being applied to a layout, step by step.
class Applied {
public:
  Applied(const Collective &collective, const Sharding &input, const Mesh &mesh)
      : collective(collective), mesh(mesh), result(input) {
    result.replicated.clear();
  }

  Status removeUnreduced() {
    auto rest = withoutAxes(result.unreduced, collective.axes);
    if (!rest)
      return Status::refused("axes are " + textOf(collective.axes, mesh) +
                             ", expected some of the operand's unreduced " +
                             textOf(result.unreduced, mesh));
    result.unreduced = *rest;
    return Status();
  }

  Status removeSuffix(int64_t dim, const char *name) {
    TANDEM_TRY(checkDim(dim, name, result));
    AxisList &axes = result.dims[dim].axes;
    auto rest = withoutSuffix(axes, collective.axes);
    if (!rest)
      return Status::refused("axes are " + textOf(collective.axes, mesh) +
                             ", expected the minor-most of dimension " +
                             std::to_string(dim) + "'s " + textOf(axes, mesh));
    axes = *rest;
    return Status();
  }

  Status addSuffix() {
    TANDEM_TRY(checkDim(collective.dim, "dim", result));
    AxisList used = usedAxes(result);
    for (const AxisRef &axis : collective.axes)
      if (overlaps(used, axis))
        return Status::refused("axis " + toString(axis, mesh) +
                               " already splits the operand or leaves it "
                               "unreduced");
    AxisList &axes = result.dims[collective.dim].axes;
    axes.insert(axes.end(), collective.axes.begin(), collective.axes.end());
    axes = merged(axes);
    return Status();
  }

  Sharding take() { return std::move(result); }

private:
  const Collective &collective;
  const Mesh &mesh;
  Sharding result;
};

Status checkAxes(const Collective &collective, const Mesh &mesh) {
  AxisList seen;
  for (const AxisRef &axis : collective.axes) {
    if (!mesh.contains(axis))
      return Status::refused("axis " + toString(axis, mesh) +
                             " is not in the mesh " + mesh.toString());
    if (overlaps(seen, axis))
      return Status::refused("axis " + toString(axis, mesh) + " is used twice");
    seen.push_back(axis);
  }
  return Status();
}

Status apply(const Collective &collective, Applied &applied) {
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return applied.removeUnreduced();
  case CollectiveKind::AllGather:
    return applied.removeSuffix(collective.dim, "dim");
  case CollectiveKind::ReduceScatter:
    TANDEM_TRY(applied.removeUnreduced());
    return applied.addSuffix();
  case CollectiveKind::AllToAll:
    TANDEM_TRY(applied.removeSuffix(collective.fromDim, "from_dim"));
    return applied.addSuffix();
  case CollectiveKind::AllSlice:
    return applied.addSuffix();
  case CollectiveKind::Broadcast:
    return Status();
  case CollectiveKind::Permute:
    return Status::refused("a permute's result does not follow from its "
                           "operand");
  }
  return Status();
}

} // namespace

std::string_view nameOf(CollectiveKind kind) {
  static const char *const names[] = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all",
      "all_slice",  "permute",    "broadcast"};
  return names[static_cast<int>(kind)];
}

std::optional<AxisList> withoutAxes(const AxisList &axes,
                                    const AxisList &removed) {
  AxisList rest = sorted(axes);
  for (const AxisRef &axis : sorted(removed)) {
    auto found = std::find_if(rest.begin(), rest.end(), [&](const AxisRef &r) {
      return contains(r, axis);
    });
    if (found == rest.end())
      return std::nullopt;
    AxisList parts = around(*found, axis);
    rest.insert(rest.erase(found), parts.begin(), parts.end());
  }
  return rest;
}

std::optional<AxisList> withoutSuffix(const AxisList &axes,
                                      const AxisList &suffix) {
  AxisList rest = merged(axes), end = merged(suffix);
  while (!end.empty()) {
    AxisRef axis = end.back();
    if (rest.empty() || !contains(rest.back(), axis))
      return std::nullopt;
    AxisRef last = rest.back();
    // Nothing of the last axis may be minor to what is taken off.
    if (last.preSize * last.size != axis.preSize * axis.size)
      return std::nullopt;
    // A part in front may stay only when the suffix ends here.
    if (last.preSize != axis.preSize && end.size() > 1)
      return std::nullopt;
    rest.pop_back();
    append(rest, {last.name, last.preSize, axis.preSize / last.preSize});
    end.pop_back();
  }
  return rest;
}

Result<Sharding> resultSharding(const Collective &collective,
                                const Sharding &input, const Mesh &mesh) {
  TANDEM_TRY(checkAxes(collective, mesh));
  Applied applied(collective, input, mesh);
  TANDEM_TRY(apply(collective, applied));
  return applied.take();
}

Status checkPermute(const Sharding &input, const Sharding &output,
                    const std::vector<int64_t> &shape, const Mesh &mesh) {
  Sharding from = input, to = output;
  from.dims.clear(), to.dims.clear();
  if (!from.sameLayout(to))
    return Status::refused("result is unreduced over " +
                           textOf(output.unreduced, mesh) + ", expected " +
                           textOf(input.unreduced, mesh));
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t before = sizeOf(input.dims[d].axes);
    int64_t after = sizeOf(output.dims[d].axes);
    if (before != after)
      return Status::refused("result dimension " + std::to_string(d) + " has " +
                             std::to_string(after) + " pieces, expected " +
                             std::to_string(before));
    before = capacityOf(shape[d], input.dims[d].axes);
    after = capacityOf(shape[d], output.dims[d].axes);
    if (before != after)
      return Status::refused("result dimension " + std::to_string(d) +
                             " has capacity " + std::to_string(after) +
                             ", expected " + std::to_string(before));
  }
  return Status();
}

} // namespace tandem

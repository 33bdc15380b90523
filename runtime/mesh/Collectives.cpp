#include "runtime/mesh/Collectives.h"

#include <algorithm>

namespace tandem {
namespace {

Status misfit(const Collective &collective, const TensorType &operand,
              const Mesh &mesh, const std::string &why) {
  std::string axes;
  for (const AxisRef &axis : collective.axes)
    axes += (axes.empty() ? "" : ", ") + toString(axis, mesh);
  return Status::refused(std::string(name(collective.kind)) + " over {" + axes +
                         "} does not fit " + operand.toString(mesh) + ": " +
                         why);
}

std::string dimension(size_t dim) { return "dimension " + std::to_string(dim); }

/// The rules, one function a line of the header's table.
class TypeRules {
public:
  TypeRules(const Collective &collective, const TensorType &operand,
            const Mesh &mesh)
      : c(collective), operand(operand), result(operand), mesh(mesh) {}

  Result<TensorType> run() {
    if (usesDim() && c.dim >= operand.shape.size())
      return bad("it has no " + dimension(c.dim));
    if (c.kind == CollectiveKind::AllToAll &&
        (c.fromDim >= operand.shape.size() || c.fromDim == c.dim))
      return bad("it has no other " + dimension(c.fromDim));
    TANDEM_TRY(apply());
    Status status = check(result.sharding, result.shape.size(), mesh);
    if (!status.ok())
      return bad(status.message());
    return result;
  }

private:
  bool usesDim() const {
    return c.kind == CollectiveKind::AllGather ||
           c.kind == CollectiveKind::ReduceScatter ||
           c.kind == CollectiveKind::AllToAll ||
           c.kind == CollectiveKind::AllSlice;
  }

  Status apply() {
    switch (c.kind) {
    case CollectiveKind::AllReduce:
      return reduce();
    case CollectiveKind::AllGather:
      return join(c.dim);
    case CollectiveKind::ReduceScatter:
      TANDEM_TRY(reduce());
      return split();
    case CollectiveKind::AllToAll:
      TANDEM_TRY(join(c.fromDim));
      return split();
    case CollectiveKind::AllSlice:
      return split();
    default:
      return Status();
    }
  }

  Status reduce() {
    std::optional<AxisList> rest =
        withoutAxes(result.sharding.unreduced, c.axes);
    if (!rest)
      return bad("it is not unreduced over these axes");
    if (c.reduction != operand.reduction)
      return bad("its terms combine otherwise");
    result.sharding.unreduced = std::move(*rest);
    if (result.sharding.unreduced.empty())
      result.reduction = ReductionKind::Sum;
    return Status();
  }

  Status join(size_t dim) {
    AxisList &axes = result.sharding.dims[dim].axes;
    std::optional<AxisList> rest = withoutSuffix(axes, c.axes);
    if (!rest)
      return bad(dimension(dim) + " is not split by these axes last");
    AxisList spelled = *rest;
    spelled.insert(spelled.end(), c.axes.begin(), c.axes.end());
    if (!sameSplit(operand.shape[dim], axes, spelled))
      return bad("the uneven pieces of " + dimension(dim) +
                 " do not join along a part of an axis");
    axes = std::move(*rest);
    return Status();
  }

  Status split() {
    AxisList &axes = result.sharding.dims[c.dim].axes;
    axes.insert(axes.end(), c.axes.begin(), c.axes.end());
    return Status();
  }

  Status bad(const std::string &why) const {
    return misfit(c, operand, mesh, why);
  }

  const Collective &c;
  const TensorType &operand;
  TensorType result;
  const Mesh &mesh;
};

/// Whether pieces of a dimension of `size` are the same set under both lists,
/// whichever rank holds them.
bool samePieces(int64_t size, const AxisList &a, const AxisList &b) {
  if (sizeOf(a) != sizeOf(b))
    return false;
  bool alike = a.size() == b.size();
  for (size_t i = 0; alike && i < a.size(); ++i)
    alike = a[i].size == b[i].size;
  return alike || size % sizeOf(a) == 0;
}

Status checkPermute(const Collective &c, const TensorType &from,
                    const TensorType &to, const Mesh &mesh) {
  auto bad = [&](const std::string &why) { return misfit(c, from, mesh, why); };
  if (from.dtype != to.dtype || from.shape != to.shape)
    return bad("the result is another tensor, " + to.toString(mesh));
  if (!withoutAxes(from.sharding.unreduced, to.sharding.unreduced) ||
      !withoutAxes(to.sharding.unreduced, from.sharding.unreduced))
    return bad("the result is unreduced over other axes, " + to.toString(mesh));
  for (const AxisRef &axis : from.sharding.unreduced)
    if (overlaps(c.axes, axis))
      return bad("the terms of an unreduced tensor may not change places");
  for (size_t d = 0; d < from.shape.size(); ++d) {
    const AxisList &before = from.sharding.dims[d].axes;
    const AxisList &after = to.sharding.dims[d].axes;
    if (!samePieces(from.shape[d], before, after))
      return bad("the result has other pieces of " + dimension(d) + ", " +
                 to.toString(mesh));
    AxisList fixed = commonPrefix(before, after);
    for (const AxisList *list : {&before, &after})
      if (!withoutAxes(c.axes, withoutPrefix(*list, fixed)))
        return bad("pieces of " + dimension(d) +
                   " would come from outside of the group");
  }
  return Status();
}

int64_t productOf(const std::vector<int64_t> &shape, size_t end) {
  int64_t product = 1;
  for (size_t d = 0; d < end; ++d)
    product *= shape[d];
  return product;
}

/// Whether n tensors of shape `piece`, one behind the other, are one of shape
/// `whole`.
bool liesInPieces(const std::vector<int64_t> &whole,
                  const std::vector<int64_t> &piece, size_t dim, int64_t n) {
  return productOf(whole, dim) == 1 && n * piece[dim] == whole[dim];
}

int64_t ceilOf(int64_t a, int64_t b) { return a / b + (a % b != 0); }

} // namespace

const char *name(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::AllSlice:
    return "all_slice";
  case CollectiveKind::Permute:
    return "permute";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::Send:
    return "send";
  case CollectiveKind::Recv:
    return "recv";
  }
  return "unknown";
}

std::optional<AxisList> withoutAxes(const AxisList &axes,
                                    const AxisList &part) {
  AxisList rest = withoutTrivial(axes), sorted = withoutTrivial(part);
  std::sort(rest.begin(), rest.end());
  std::sort(sorted.begin(), sorted.end());
  rest = merged(rest);
  for (const AxisRef &taken : merged(sorted)) {
    auto it = std::find_if(rest.begin(), rest.end(), [&](const AxisRef &a) {
      int64_t end = a.preSize * a.size, takenEnd = taken.preSize * taken.size;
      return a.name == taken.name && taken.preSize % a.preSize == 0 &&
             end % takenEnd == 0;
    });
    if (it == rest.end())
      return std::nullopt;
    AxisRef before{it->name, it->preSize, taken.preSize / it->preSize};
    AxisRef after{it->name, taken.preSize * taken.size,
                  it->preSize * it->size / (taken.preSize * taken.size)};
    it = rest.erase(it);
    for (const AxisRef &left : {after, before})
      if (left.size > 1)
        it = rest.insert(it, left);
  }
  return rest;
}

std::optional<AxisList> withoutSuffix(const AxisList &axes,
                                      const AxisList &suffix) {
  AxisList rest = axes;
  for (size_t i = suffix.size(); i-- > 0;) {
    // Each step takes one part off the end, joining or cutting what it must.
    AxisRef last = suffix[i];
    while (last.size > 1) {
      if (rest.empty() || rest.back().name != last.name)
        return std::nullopt;
      AxisRef &end = rest.back();
      if (end.preSize * end.size != last.preSize * last.size)
        return std::nullopt;
      if (end.preSize >= last.preSize) { // All of `end` goes.
        if (end.preSize % last.preSize)
          return std::nullopt;
        last.size = end.preSize / last.preSize;
        rest.pop_back();
        continue;
      }
      if (last.preSize % end.preSize)
        return std::nullopt;
      end.size = last.preSize / end.preSize;
      break;
    }
  }
  return rest;
}

Result<TensorType> resultType(const Collective &collective,
                              const TensorType &operand, const Mesh &mesh) {
  return TypeRules(collective, operand, mesh).run();
}

Status checkCollective(const Collective &collective, const TensorType &from,
                       const TensorType &to, const Mesh &mesh) {
  if (collective.kind == CollectiveKind::Permute)
    return checkPermute(collective, from, to, mesh);
  TANDEM_ASSIGN(TensorType derived, resultType(collective, from, mesh));
  if (derived != to)
    return misfit(collective, from, mesh,
                  "the result is declared " + to.toString(mesh) + ", it is " +
                      derived.toString(mesh));
  return Status();
}

Traffic trafficOf(CollectiveKind kind, int64_t ranks, int64_t bytes) {
  int64_t others = ranks - 1;
  // Whole pieces first: n b could pass 2^63.
  auto share = [&](int64_t times) {
    return bytes / ranks * times + ceilOf(bytes % ranks * times, ranks);
  };
  switch (kind) {
  case CollectiveKind::AllReduce:
    return {2 * others, bytes, share(2 * others)};
  case CollectiveKind::AllGather:
    return {others, bytes, others * bytes};
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return {others, bytes, share(others)};
  case CollectiveKind::AllSlice:
    return {0, bytes, 0};
  case CollectiveKind::Broadcast:
    return {others, bytes, bytes};
  case CollectiveKind::Permute:
  case CollectiveKind::Send:
  case CollectiveKind::Recv:
    return {1, bytes, bytes};
  }
  return {};
}

int64_t workspaceBytes(const Collective &collective, const TensorType &from,
                       const TensorType &to) {
  int64_t n = sizeOf(collective.axes);
  std::vector<int64_t> source = from.localShape(), target = to.localShape();
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return n * storageBytes(from.dtype, ceilOf(from.localElements(), n));
  case CollectiveKind::AllGather:
    return liesInPieces(target, source, collective.dim, n)
               ? 0
               : n * from.localBytes();
  case CollectiveKind::ReduceScatter:
    return n * to.localBytes() *
           (liesInPieces(source, target, collective.dim, n) ? 1 : 2);
  case CollectiveKind::AllToAll: {
    std::vector<int64_t> piece = source;
    piece[collective.dim] = target[collective.dim];
    int64_t bytes =
        n * storageBytes(from.dtype, productOf(piece, piece.size()));
    return (liesInPieces(source, piece, collective.dim, n) ? 0 : bytes) +
           (liesInPieces(target, piece, collective.fromDim, n) ? 0 : bytes);
  }
  default:
    return 0;
  }
}

} // namespace tandem

#include "ir/reference/Exchange.h"
#include "ir/reference/Distribution.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tandem {
namespace {

/// The local index of the lane at a global index, nothing where it is not
/// held.
std::optional<std::vector<int64_t>>
localIndex(const Tensor &tensor, const std::vector<int64_t> &global) {
  std::vector<int64_t> index(global.size());
  for (size_t d = 0; d < global.size(); ++d) {
    index[d] = global[d] - tensor.dim(d).begin;
    if (index[d] < 0 || index[d] >= tensor.dim(d).valid)
      return std::nullopt;
  }
  return index;
}

/// What one rank makes of its group's tensors, in group order.
class GroupMember {
public:
  GroupMember(Operation *op, const Collective &collective,
              std::vector<const Tensor *> group, size_t self)
      : op(op), collective(collective), group(std::move(group)), self(self) {}

  /// Fills the valid lanes of `result`.
  LogicalResult fill(Tensor &result) {
    bool complete = true;
    result.forEachValid([&](const std::vector<int64_t> &index) {
      std::vector<int64_t> global = index;
      for (size_t d = 0; d < index.size(); ++d)
        global[d] += result.dim(d).begin;
      std::optional<double> value = valueAt(global);
      complete = complete && value;
      if (value)
        result.at(index) = *value;
    });
    if (complete)
      return success();
    return op->emitOpError("needs lanes that no rank of its group holds");
  }

private:
  std::optional<double> valueAt(const std::vector<int64_t> &global) const {
    switch (collective.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::ReduceScatter:
      return combined(global);
    case CollectiveKind::Broadcast:
      return from(cast<BroadcastOp>(op).getRoot(), global);
    default:
      return found(global);
    }
  }

  std::optional<double> from(size_t member,
                             const std::vector<int64_t> &global) const {
    auto index = localIndex(*group[member], global);
    if (!index)
      return std::nullopt;
    return group[member]->at(*index);
  }

  std::optional<double> combined(const std::vector<int64_t> &global) const {
    std::optional<double> result;
    for (size_t member = 0; member < group.size(); ++member) {
      std::optional<double> term = from(member, global);
      if (!term)
        return std::nullopt;
      result = result ? combine(collective.reduction, *result, *term) : term;
    }
    return result;
  }

  /// The rank's own lane if it has it, else the first that has.
  std::optional<double> found(const std::vector<int64_t> &global) const {
    std::optional<double> value = from(self, global);
    for (size_t member = 0; !value && member < group.size(); ++member)
      value = from(member, global);
    return value;
  }

  Operation *op;
  const Collective &collective;
  std::vector<const Tensor *> group;
  size_t self;
};

Collective describe(CollectiveKind kind, AxesAttr axes, const Mesh &mesh,
                    Value input, int64_t dim = 0, int64_t fromDim = 0) {
  LocalAttr local = localOf(input.getType());
  return {kind, axes.getValue(mesh), static_cast<size_t>(dim),
          static_cast<size_t>(fromDim),
          local ? local.getReduction() : ReductionKind::Sum};
}

} // namespace

std::optional<Collective> collectiveOf(Operation *op, const Mesh &mesh) {
  using Found = std::optional<Collective>;
  auto plain = [&](CollectiveKind kind, auto collective) -> Found {
    return describe(kind, collective.getAxes(), mesh, collective.getInput());
  };
  auto along = [&](CollectiveKind kind, auto collective) -> Found {
    return describe(kind, collective.getAxes(), mesh, collective.getInput(),
                    collective.getDim());
  };
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([&](AllReduceOp c) { return plain(CollectiveKind::AllReduce, c); })
      .Case([&](AllGatherOp c) { return along(CollectiveKind::AllGather, c); })
      .Case([&](ReduceScatterOp c) {
        return along(CollectiveKind::ReduceScatter, c);
      })
      .Case([&](AllToAllOp c) -> Found {
        return describe(CollectiveKind::AllToAll, c.getAxes(), mesh,
                        c.getInput(), c.getDim(), c.getFromDim());
      })
      .Case([&](AllSliceOp c) { return along(CollectiveKind::AllSlice, c); })
      .Case([&](PermuteOp c) { return plain(CollectiveKind::Permute, c); })
      .Case([&](BroadcastOp c) { return plain(CollectiveKind::Broadcast, c); })
      .Default([](Operation *) { return Found(); });
}

FailureOr<std::map<int64_t, Tensor>>
communicate(const std::map<int64_t, Participant> &participants,
            const Mesh &mesh) {
  std::map<int64_t, Tensor> results;
  for (const auto &[rank, participant] : participants) {
    Collective collective = *collectiveOf(participant.op, mesh);
    std::vector<const Tensor *> group;
    for (int64_t member : mesh.groupRanks(rank, collective.axes)) {
      auto found = participants.find(member);
      if (found == participants.end())
        return participant.op->emitOpError()
               << "rank " << member << " of its group takes no part";
      group.push_back(found->second.input);
    }
    Tensor result(dimsOf(participant.op->getResult(0).getType(), mesh, rank));
    size_t self = mesh.coordinate(rank, collective.axes);
    GroupMember member(participant.op, collective, std::move(group), self);
    if (failed(member.fill(result)))
      return failure();
    results.emplace(rank, std::move(result));
  }
  return results;
}

} // namespace tandem

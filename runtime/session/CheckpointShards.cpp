#include "runtime/session/CheckpointShards.h"

#include "runtime/files/checkpoint/Checkpoint.h"

#include <algorithm>
#include <set>

namespace tandem {
namespace {

template <typename Table> std::vector<uint32_t> stagesOf(const Table &table) {
  return {table.stages()->begin(), table.stages()->end()};
}

CheckpointTensor describe(const Plan &plan, const fb::State &state) {
  const TensorType &type = plan.type(state.type());
  return {state.name()->str(), type.dtype, type.shape, std::nullopt};
}

CheckpointTensor describe(const Plan &plan, const fb::Parameter &parameter) {
  const TensorType &type = plan.type(parameter.type());
  StoredPlace stored;
  stored.key = parameter.key()->str();
  stored.dtype = static_cast<DType>(parameter.stored_dtype());
  stored.shape.assign(parameter.stored_shape()->begin(),
                      parameter.stored_shape()->end());
  stored.offset = parameter.view_offset();
  stored.strides.assign(parameter.view_strides()->begin(),
                        parameter.view_strides()->end());
  return {parameter.name()->str(), type.dtype, type.shape, std::move(stored)};
}

/// The parameter of the same view that comes first in the plan.
uint32_t firstOfView(const std::vector<CheckpointTensor> &parameters,
                     uint32_t index) {
  uint32_t first = 0;
  while (!(*parameters[first].stored == *parameters[index].stored &&
           parameters[first].shape == parameters[index].shape))
    ++first;
  return first;
}

std::vector<CheckpointTensor> describeParameters(const Plan &plan) {
  std::vector<CheckpointTensor> parameters;
  for (const fb::Parameter *parameter : *plan.table().parameters())
    parameters.push_back(describe(plan, *parameter));
  return parameters;
}

/// Calls `visit(tensor, table)` for each tensor that a checkpoint holds,
/// and `index` within its kind.
template <typename OnParameter, typename OnState>
void forEachKept(const Plan &plan, const OnParameter &onParameter,
                 const OnState &onState) {
  std::vector<CheckpointTensor> parameters = describeParameters(plan);
  for (uint32_t i = 0; i < parameters.size(); ++i)
    if (firstOfView(parameters, i) == i)
      onParameter(parameters[i], i);
  for (uint32_t i = 0; i < plan.table().states()->size(); ++i)
    onState(describe(plan, *plan.table().states()->Get(i)), i);
}

Box boxOf(const TensorArg &piece) {
  Box box;
  for (const TensorDim &dim : piece.dims) {
    box.begin.push_back(dim.begin);
    box.shape.push_back(dim.valid);
  }
  return box;
}

Box boxOf(const Plan &plan, const TensorType &type, int64_t rank) {
  return boxOf(RankLayout{plan.mesh(), rank}.tensor(type, nullptr));
}

/// Strides of the local, capacity shape.
std::vector<int64_t> stridesOf(const TensorArg &piece) {
  std::vector<int64_t> strides(piece.dims.size());
  int64_t step = 1;
  for (size_t i = strides.size(); i-- > 0; step *= piece.dims[i].capacity)
    strides[i] = step;
  return strides;
}

std::string describeType(const CheckpointTensor &tensor) {
  return std::string(name(tensor.dtype)) + shapeToString(tensor.shape);
}

/// Reads a rank's pieces from one checkpoint.
class Loader {
public:
  Loader(const Plan &plan, Executor &executor, const Checkpoint &checkpoint)
      : plan(plan), executor(executor), checkpoint(checkpoint) {}

  Status load() {
    TANDEM_TRY(refuseSurplus());
    for (uint32_t i = 0; i < plan.table().parameters()->size(); ++i)
      TANDEM_TRY(fill(describe(plan, *plan.table().parameters()->Get(i)),
                      executor.parameter(i)));
    for (uint32_t i = 0; i < plan.table().states()->size(); ++i)
      TANDEM_TRY(fill(describe(plan, *plan.table().states()->Get(i)),
                      executor.state(i)));
    return Status();
  }

private:
  /// A checkpoint of a larger model must not pass for one of this.
  Status refuseSurplus() const {
    std::set<std::string> keys;
    for (const fb::Parameter *parameter : *plan.table().parameters())
      keys.insert(parameter->key()->str());
    for (const CheckpointTensor &tensor : checkpoint.manifest().tensors)
      if (tensor.stored && !keys.count(tensor.stored->key))
        return mismatch("it holds '" + tensor.stored->key +
                        "', which the plan's model has not");
    return Status();
  }

  Status fill(const CheckpointTensor &wanted,
              const std::optional<TensorArg> &piece) {
    const CheckpointTensor *found = find(wanted);
    if (!found)
      return mismatch("it holds no '" + wanted.name + "' as the plan has it, " +
                      describeType(wanted));
    if (found->dtype != wanted.dtype || found->shape != wanted.shape)
      return mismatch("its '" + found->name + "' is " + describeType(*found) +
                      ", the plan's " + describeType(wanted));
    if (!piece)
      return Status();
    return checkpoint.read(*found, boxOf(*piece), piece->dtype, piece->data,
                           stridesOf(*piece));
  }

  const CheckpointTensor *find(const CheckpointTensor &wanted) const {
    const std::vector<CheckpointTensor> &tensors =
        checkpoint.manifest().tensors;
    auto same = [&](const CheckpointTensor &tensor) {
      if (!wanted.stored || !tensor.stored)
        return !wanted.stored && !tensor.stored && tensor.name == wanted.name;
      return *tensor.stored == *wanted.stored && tensor.shape == wanted.shape;
    };
    auto it = std::find_if(tensors.begin(), tensors.end(), same);
    return it == tensors.end() ? nullptr : &*it;
  }

  Status mismatch(const std::string &what) const {
    return Status::refused(
        "the checkpoint '" + checkpoint.path() +
        "' is of another model, optimizer or --dtype: " + what);
  }

  const Plan &plan;
  Executor &executor;
  const Checkpoint &checkpoint;
};

} // namespace

std::vector<CheckpointTensor> checkpointTensors(const Plan &plan) {
  std::vector<CheckpointTensor> tensors;
  auto keep = [&](CheckpointTensor tensor, uint32_t) {
    tensors.push_back(std::move(tensor));
  };
  forEachKept(plan, keep, keep);
  return tensors;
}

bool ownsPiece(const Plan &plan, const TensorType &type,
               const std::vector<uint32_t> &stages, int64_t rank) {
  Box own = boxOf(plan, type, rank);
  if (own.elements() == 0)
    return false;
  // Boxes that are not empty are equal where the positions on all axes that
  // split the tensor are; so it is enough to go along one axis at a time.
  const Mesh &mesh = plan.mesh();
  for (const Axis &axis : mesh.axes()) {
    AxisList along = {mesh.whole(axis.name)};
    for (int64_t i = 0; i < mesh.coordinate(rank, along); ++i) {
      int64_t lower = mesh.withCoordinate(rank, along, i);
      if (std::binary_search(stages.begin(), stages.end(),
                             plan.stageOf(lower)) &&
          boxOf(plan, type, lower) == own)
        return false;
    }
  }
  return true;
}

std::vector<HeldPiece> ownedPieces(const Plan &plan, const Executor &executor) {
  std::vector<HeldPiece> pieces;
  auto add = [&](const CheckpointTensor &tensor, const auto &table,
                 const std::optional<TensorArg> &piece) {
    if (piece && ownsPiece(plan, plan.type(table.type()), stagesOf(table),
                           executor.rank()))
      pieces.push_back({tensor, boxOf(*piece), *piece});
  };
  forEachKept(
      plan,
      [&](const CheckpointTensor &tensor, uint32_t i) {
        add(tensor, *plan.table().parameters()->Get(i), executor.parameter(i));
      },
      [&](const CheckpointTensor &tensor, uint32_t i) {
        add(tensor, *plan.table().states()->Get(i), executor.state(i));
      });
  return pieces;
}

Status checkShards(const Plan &plan, int64_t rank, const std::string &path) {
  TANDEM_ASSIGN(auto checkpoint, Checkpoint::open(path));
  auto ranks = static_cast<size_t>(plan.numRanks());
  for (auto i = static_cast<size_t>(rank);
       i < checkpoint->manifest().shards.size(); i += ranks)
    TANDEM_TRY(checkpoint->check(i));
  return Status();
}

Status loadShards(const Plan &plan, Executor &executor,
                  const std::string &path) {
  TANDEM_ASSIGN(auto checkpoint, Checkpoint::open(path));
  return Loader(plan, executor, *checkpoint).load();
}

} // namespace tandem

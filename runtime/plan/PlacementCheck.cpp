#include "runtime/plan/PlacementCheck.h"
#include "runtime/plan/StoredViews.h"

#include <algorithm>
#include <map>

namespace tandem {
namespace {

struct Piece {
  uint64_t begin;
  uint64_t bytes;
  std::string name;
};

std::string bytesText(uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

class PlacementCheck {
public:
  explicit PlacementCheck(const Plan &plan)
      : plan(plan), stages(plan.stages()), parameterBytes(plan.stages(), 0),
        stateBytes(plan.stages(), 0) {}

  Status run() {
    for (const fb::Parameter *parameter : *plan.table().parameters()) {
      TANDEM_TRY(stored(*parameter));
      TANDEM_TRY(view(*parameter));
      if (!plan.sharding(parameter->type()).unreduced.empty())
        return Status::refused(nameOf(*parameter) + " is unreduced");
      TANDEM_TRY(place(nameOf(*parameter), *parameter, parameterBytes));
    }
    TANDEM_TRY(checkParts(plan));
    for (const fb::State *state : *plan.table().states())
      TANDEM_TRY(
          place("state '" + state->name()->str() + "'", *state, stateBytes));
    for (uint32_t stage = 0; stage < stages.size(); ++stage)
      TANDEM_TRY(stageOf(stage));
    return Status();
  }

private:
  static std::string nameOf(const fb::Parameter &parameter) {
    return "parameter '" + parameter.name()->str() + "'";
  }

  /// Parameters of one stored tensor say the same of it.
  Status stored(const fb::Parameter &parameter) {
    auto [it, isNew] = tensors.try_emplace(parameter.key()->str(), &parameter);
    const fb::Parameter &first = *it->second;
    bool alike =
        first.stored_dtype() == parameter.stored_dtype() &&
        std::equal(first.stored_shape()->begin(), first.stored_shape()->end(),
                   parameter.stored_shape()->begin(),
                   parameter.stored_shape()->end());
    if (!isNew && !alike)
      return Status::refused(nameOf(parameter) + " and " + nameOf(first) +
                             " say different things of stored tensor '" +
                             parameter.key()->str() + "'");
    return Status();
  }

  Status view(const fb::Parameter &parameter) const {
    __int128 elements = 1, first = parameter.view_offset(), last = first;
    for (int64_t size : *parameter.stored_shape()) {
      if (size < 0 || (elements *= size) > (__int128(1) << 62))
        return Status::refused(nameOf(parameter) +
                               " is a view of a tensor with an impossible "
                               "shape");
    }
    const std::vector<int64_t> &shape = plan.type(parameter.type()).shape;
    std::vector<std::pair<__int128, int64_t>> steps; // stride, size
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t stride = parameter.view_strides()->Get(static_cast<uint32_t>(d));
      if (shape[d] == 0)
        return Status(); // Reads nothing.
      if (shape[d] == 1)
        continue;
      __int128 reach = __int128(stride) * (shape[d] - 1);
      (stride < 0 ? first : last) += reach;
      steps.emplace_back(stride < 0 ? -__int128(stride) : __int128(stride),
                         shape[d]);
    }
    if (first < 0 || last >= elements)
      return Status::refused(
          nameOf(parameter) + " is a view that leaves stored tensor '" +
          parameter.key()->str() + "' of " +
          std::to_string(static_cast<int64_t>(elements)) + " elements");
    return readsOnce(parameter, steps);
  }

  /// Sorted by stride, each step goes past all that smaller ones reach.
  static Status readsOnce(const fb::Parameter &parameter,
                          std::vector<std::pair<__int128, int64_t>> &steps) {
    std::sort(steps.begin(), steps.end());
    __int128 reach = 0;
    for (const auto &[stride, size] : steps) {
      if (stride <= reach)
        return Status::refused(nameOf(parameter) +
                               " is a view that reads elements of stored "
                               "tensor '" +
                               parameter.key()->str() + "' twice");
      reach += stride * (size - 1);
    }
    return Status();
  }

  template <typename T>
  Status place(const std::string &name, const T &item,
               std::vector<uint64_t> &sums) {
    const TensorType &type = plan.type(item.type());
    auto bytes = static_cast<uint64_t>(type.localBytes());
    for (uint32_t i = 0; i < item.stages()->size(); ++i) {
      uint64_t begin = item.offsets()->Get(i);
      if (begin > (uint64_t(1) << 62) ||
          (!isQuantised(type.dtype) &&
           begin % static_cast<uint64_t>(blockBytes(type.dtype)) != 0))
        return Status::refused(name + " lies at byte " + std::to_string(begin) +
                               ", which is not aligned to its elements");
      uint32_t stage = item.stages()->Get(i);
      sums[stage] += bytes;
      if (bytes > 0)
        stages[stage].push_back({begin, bytes, name});
    }
    if (item.stages()->size() == 0)
      return Status::refused(name + " is on no stage");
    return Status();
  }

  Status stageOf(uint32_t stage) {
    std::vector<Piece> &pieces = stages[stage];
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece &a, const Piece &b) { return a.begin < b.begin; });
    for (size_t i = 1; i < pieces.size(); ++i)
      if (pieces[i - 1].begin + pieces[i - 1].bytes > pieces[i].begin)
        return Status::refused(pieces[i - 1].name + " and " + pieces[i].name +
                               " overlap on pp " + std::to_string(stage));
    const fb::Memory &memory = *plan.table().memory()->Get(stage);
    TANDEM_TRY(declared(stage, "parameters", memory.parameters(),
                        parameterBytes[stage]));
    TANDEM_TRY(declared(stage, "state", memory.state(), stateBytes[stage]));
    uint64_t end =
        pieces.empty() ? 0 : pieces.back().begin + pieces.back().bytes;
    uint64_t room = memory.parameters() + memory.state();
    if (end > room || room - end > 2 * kMemorySlack)
      return Status::refused(
          "pp " + std::to_string(stage) + " declares " + bytesText(room) +
          " of parameters and state, they end at byte " + std::to_string(end));
    return Status();
  }

  static Status declared(uint32_t stage, const char *what, uint64_t said,
                         uint64_t used) {
    if (said < used || said > (uint64_t(1) << 62))
      return Status::refused("pp " + std::to_string(stage) + " declares " +
                             bytesText(said) + " of " + what + ", it has " +
                             bytesText(used));
    return Status();
  }

  const Plan &plan;
  std::vector<std::vector<Piece>> stages;
  std::vector<uint64_t> parameterBytes, stateBytes;
  std::map<std::string, const fb::Parameter *> tensors;
};

} // namespace

Status checkPlacement(const Plan &plan) { return PlacementCheck(plan).run(); }

Status checkDeclaredMemory(const Plan &plan,
                           const std::vector<uint64_t> &arenaEnds) {
  for (uint32_t stage = 0; stage < plan.stages(); ++stage) {
    const fb::Memory &memory = *plan.table().memory()->Get(stage);
    std::string where = "pp " + std::to_string(stage);
    uint64_t peak = memory.arena_peak();
    if (peak < arenaEnds[stage] || peak - arenaEnds[stage] > kMemorySlack)
      return Status::refused(where + " declares an arena of " +
                             bytesText(peak) + ", its values end at byte " +
                             std::to_string(arenaEnds[stage]));
    if (memory.arena_lower_bound() > peak)
      return Status::refused(where + " declares that " +
                             bytesText(memory.arena_lower_bound()) +
                             " live at once in an arena of " + bytesText(peak));
  }
  return Status();
}

} // namespace tandem

#include "runtime/plan/TypeCheck.h"
#include "runtime/plan/LaunchTypes.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tandem {
namespace {

bool usesStages(const AxisList &axes) {
  return std::any_of(axes.begin(), axes.end(), [](const AxisRef &axis) {
    return axis.name == kStageAxis;
  });
}

class TypeCheck {
public:
  TypeCheck(const Plan &plan, const fb::Entry &entry)
      : plan(plan), entry(entry) {
    if (plan.mesh().has(kStageAxis))
      stageTerms.push_back(plan.mesh().whole(kStageAxis));
  }

  Status run() {
    TANDEM_TRY(ports(*entry.inputs(), "input"));
    TANDEM_TRY(ports(*entry.outputs(), "output"));
    for (uint32_t stage = 0; stage < plan.stages(); ++stage) {
      reshaped.clear();
      TANDEM_TRY(walkInstructions(
          plan, entry, stage, [&](const Step &step) { return visit(step); }));
      TANDEM_TRY(values(stage));
    }
    return Status();
  }

private:
  using Ports = flatbuffers::Vector<flatbuffers::Offset<fb::Port>>;

  Status ports(const Ports &ports, const char *kind) const {
    for (const fb::Port *port : ports) {
      std::string where = std::string(kind) + " '" + port->name()->str() +
                          "' of entry '" + entry.name()->str() + "'";
      const TensorType &type = plan.type(port->type());
      if (!type.sharding.unreduced.empty())
        return Status::refused(where + " is unreduced, " +
                               type.toString(plan.mesh()));
      bool isSomewhere = false;
      for (uint32_t stage = 0; stage < plan.stages(); ++stage) {
        uint32_t v = port->values()->Get(stage);
        if (v == kNone)
          continue;
        isSomewhere = true;
        const TensorType &held =
            plan.type(entry.programs()->Get(stage)->values()->Get(v)->type());
        if (held != type)
          return Status::refused(where + " is declared " +
                                 type.toString(plan.mesh()) + ", on pp " +
                                 std::to_string(stage) + " it is " +
                                 held.toString(plan.mesh()));
      }
      if (!isSomewhere)
        return Status::refused(where + " is on no stage");
    }
    return Status();
  }

  /// Values of parameters and states are of their type, but for what a
  /// reshape makes of them; no value is split over stages.
  Status values(uint32_t stage) const {
    const auto &values = *entry.programs()->Get(stage)->values();
    for (uint32_t v = 0; v < values.size(); ++v) {
      const fb::Value &value = *values.Get(v);
      const TensorType &type = plan.type(value.type());
      std::string where = "entry '" + entry.name()->str() + "', pp " +
                          std::to_string(stage) + ", value " +
                          std::to_string(v);
      for (const DimSharding &dim : type.sharding.dims)
        if (usesStages(dim.axes))
          return Status::refused(where + " is split over stages, " +
                                 type.toString(plan.mesh()));
      if (value.region() == fb::Region::Arena ||
          value.region() == fb::Region::Slot || reshaped.count(v))
        continue;
      if (value.region() == fb::Region::Microbatch) {
        TANDEM_TRY(
            slice(where, type, plan.type(values.Get(value.index())->type())));
        continue;
      }
      bool isState = value.region() == fb::Region::State;
      const TensorType &declared = plan.type(
          isState ? plan.table().states()->Get(value.index())->type()
                  : plan.table().parameters()->Get(value.index())->type());
      if (declared != type)
        return Status::refused(where + " is " + type.toString(plan.mesh()) +
                               ", its " + (isState ? "state" : "parameter") +
                               " is declared " +
                               declared.toString(plan.mesh()));
    }
    return Status();
  }

  /// A slice lacks dimension 0, which has a row for each microbatch and is
  /// whole on every rank.
  Status slice(const std::string &where, const TensorType &type,
               const TensorType &whole) const {
    TensorType expected = whole;
    bool isCut = !whole.shape.empty() &&
                 whole.shape[0] == int64_t(entry.microbatches()) &&
                 whole.sharding.dims[0].axes.empty();
    if (isCut) {
      expected.shape.erase(expected.shape.begin());
      expected.sharding.dims.erase(expected.sharding.dims.begin());
    }
    if (isCut && type == expected)
      return Status();
    return Status::refused(where + " is " + type.toString(plan.mesh()) +
                           ", a slice for one of " +
                           std::to_string(entry.microbatches()) +
                           " microbatches of " + whole.toString(plan.mesh()));
  }

  Status visit(const Step &step) {
    if (step.op() == fb::Opcode::Launch)
      return launch(step);
    TANDEM_TRY(argumentCounts(step));
    std::optional<Collective> collective = step.collective();
    if (!collective)
      return Status();
    if (step.op() == fb::Opcode::Send || step.op() == fb::Opcode::Recv)
      return Status();
    return checkSeen(step, [&] { return collectiveTypes(step, *collective); });
  }

  /// Isomorphic layers are checked once.
  template <typename Check>
  Status checkSeen(const Step &step, const Check &check) {
    const fb::Instruction &i = step.instruction();
    std::vector<uint32_t> key = {static_cast<uint32_t>(i.op()),
                                 static_cast<uint32_t>(i.reduction()),
                                 i.dim(),
                                 i.from_dim(),
                                 i.axes(),
                                 i.rule(),
                                 step.inputs(),
                                 step.outputs(),
                                 isZeros(step)};
    for (uint32_t a = 0; a < step.inputs(); ++a)
      key.push_back(step.value(step.input(a)).type());
    for (uint32_t a = 0; a < step.outputs(); ++a)
      key.push_back(step.value(step.output(a)).type());
    if (step.op() == fb::Opcode::Broadcast)
      key.insert(key.end(), {step.stage(), i.target()});
    if (step.workspace() != kNone)
      key.push_back(step.value(step.workspace()).type());
    if (seen.count(key))
      return Status();
    Status status = check();
    if (!status.ok())
      return step.refused(status.message());
    seen.insert(std::move(key));
    return Status();
  }

  Status launch(const Step &step) {
    if (step.inputs() == 1 && step.outputs() == 1 &&
        std::strcmp(step.what(), "reshape") == 0)
      reshaped.insert(step.output(0));
    return checkSeen(step, [&] {
      std::vector<const TensorType *> operands, results;
      for (uint32_t i = 0; i < step.inputs(); ++i)
        operands.push_back(&step.inputType(i));
      for (uint32_t i = 0; i < step.outputs(); ++i)
        results.push_back(&step.outputType(i));
      return checkLaunch(step.rule(), operands, results,
                         isZeros(step) ? anyTerms() : stageTerms, plan.mesh());
    });
  }

  /// Zeros on every rank are also the terms of a sum of zeros.
  static bool isZeros(const Step &step) {
    return step.op() == fb::Opcode::Launch &&
           std::strcmp(step.what(), "fill") == 0 &&
           step.numbers() == std::vector<int64_t>{0};
  }

  AxisList anyTerms() const {
    AxisList terms;
    for (const Axis &axis : plan.mesh().axes())
      terms.push_back(plan.mesh().whole(axis.name));
    return terms;
  }

  static Status argumentCounts(const Step &step) {
    uint32_t in = 1, out = 1;
    if (step.op() == fb::Opcode::Send)
      out = 0;
    if (step.op() == fb::Opcode::Recv)
      in = 0;
    if (step.op() == fb::Opcode::Record || step.op() == fb::Opcode::Wait)
      in = out = 0;
    bool isBroadcast = step.op() == fb::Opcode::Broadcast;
    if (step.outputs() != out ||
        (step.inputs() != in && !(isBroadcast && step.inputs() == 0)))
      return step.refused("it has " + std::to_string(step.inputs()) +
                          " inputs and " + std::to_string(step.outputs()) +
                          " outputs, expected " + std::to_string(in) + " and " +
                          std::to_string(out));
    return Status();
  }

  Status collectiveTypes(const Step &step, const Collective &collective) {
    if (collective.axes.empty())
      return Status::refused("it is over no axis");
    if (step.op() == fb::Opcode::Broadcast)
      TANDEM_TRY(broadcastRoot(step));
    else if (usesStages(collective.axes) && step.op() != fb::Opcode::AllReduce)
      return Status::refused("only broadcast and all_reduce go over stages");
    const TensorType &to = step.outputType(0);
    const TensorType &from = step.inputs() ? step.inputType(0) : to;
    TANDEM_TRY(checkCollective(collective, from, to, plan.mesh()));
    int64_t need = workspaceBytes(collective, from, to);
    int64_t have =
        step.workspace() == kNone
            ? 0
            : static_cast<int64_t>(step.value(step.workspace()).bytes());
    if (have < need)
      return Status::refused("it has " + std::to_string(have) +
                             " bytes of workspace, it needs " +
                             std::to_string(need));
    return Status();
  }

  /// The program whose ranks include the root has the value, others do not.
  Status broadcastRoot(const Step &step) const {
    int64_t rank =
        plan.mesh().withCoordinate(plan.rankOfStage(step.stage()), step.axes(),
                                   step.instruction().target());
    bool isRoot = plan.stageOf(rank) == step.stage();
    if (isRoot && !step.inputs())
      return Status::refused("its root has no value to give");
    if (!isRoot && step.inputs())
      return Status::refused("it gives a value although its root is on pp " +
                             std::to_string(plan.stageOf(rank)));
    return Status();
  }

  const Plan &plan;
  const fb::Entry &entry;
  AxisList stageTerms;
  std::set<std::vector<uint32_t>> seen;
  std::set<uint32_t> reshaped; ///< Of the program being visited.
};

} // namespace

Status checkTypes(const Plan &plan, const fb::Entry &entry) {
  return TypeCheck(plan, entry).run();
}

} // namespace tandem

#include "runtime/plan/Structure.h"

#include <set>

namespace tandem {
namespace {

/// Streams and events become threads and memory of a rank before it runs.
constexpr uint32_t kMaxStreams = 64;
/// Communicator::maxLanes, which lies beyond the plan.
constexpr uint32_t kMaxLanes = 32;
/// A schedule is spelled out, step by step, before anything runs.
constexpr uint32_t kMaxMicrobatches = 1 << 20;
constexpr uint64_t kMaxSteps = 1 << 24;

Status outOfRange(const std::string &where, const char *field, uint64_t index,
                  uint64_t count) {
  return Status::refused(where + ": " + field + " " + std::to_string(index) +
                         " is out of range; the plan has " +
                         std::to_string(count));
}

Status inRange(const std::string &where, const char *field, uint64_t index,
               uint64_t count) {
  return index < count ? Status() : outOfRange(where, field, index, count);
}

class StructureCheck {
public:
  explicit StructureCheck(const Plan &plan) : plan(plan), root(plan.table()) {}

  Status run() {
    TANDEM_TRY(stages());
    for (const fb::Parameter *parameter : *root.parameters())
      TANDEM_TRY(checkParameter(*parameter));
    std::set<std::string> names;
    for (const fb::State *state : *root.states()) {
      std::string where = "state '" + state->name()->str() + "'";
      if (!names.insert(state->name()->str()).second)
        return Status::refused(where + " is named twice");
      TANDEM_TRY(placed(where, *state));
    }
    names.clear();
    for (const fb::Entry *entry : *root.entries()) {
      if (!names.insert(entry->name()->str()).second)
        return Status::refused("entry '" + entry->name()->str() +
                               "' is named twice");
      TANDEM_TRY(checkEntry(*entry));
    }
    return Status();
  }

private:
  Status stages() {
    uint32_t expected = static_cast<uint32_t>(plan.mesh().sizeOf(kStageAxis));
    if (root.stages() != expected)
      return Status::refused("the plan says it has " +
                             std::to_string(root.stages()) +
                             " stages, its mesh " + plan.mesh().toString() +
                             " has " + std::to_string(expected));
    if (root.memory()->size() != expected)
      return Status::refused("the plan says the memory of " +
                             std::to_string(root.memory()->size()) +
                             " stages, it has " + std::to_string(expected));
    return Status();
  }

  /// What parameters and states share: a type, and an offset on each stage.
  template <typename T> Status placed(const std::string &where, const T &item) {
    TANDEM_TRY(inRange(where, "type", item.type(), root.types()->size()));
    if (item.stages()->size() != item.offsets()->size())
      return Status::refused(
          where + " has " + std::to_string(item.offsets()->size()) +
          " offsets for " + std::to_string(item.stages()->size()) + " stages");
    for (uint32_t i = 0; i < item.stages()->size(); ++i) {
      TANDEM_TRY(inRange(where, "stage", item.stages()->Get(i), root.stages()));
      if (i && item.stages()->Get(i - 1) >= item.stages()->Get(i))
        return Status::refused(where + ": its stages do not ascend");
    }
    return Status();
  }

  Status checkParameter(const fb::Parameter &parameter) {
    std::string where = "parameter '" + parameter.name()->str() + "'";
    if (!parameters.insert(parameter.name()->str()).second)
      return Status::refused(where + " is named twice");
    TANDEM_TRY(placed(where, parameter));
    if (!isElementType(parameter.stored_dtype()))
      return Status::refused(where + ": unknown stored element type " +
                             std::to_string(parameter.stored_dtype()));
    size_t rank = plan.type(parameter.type()).shape.size();
    if (parameter.view_strides()->size() != rank)
      return Status::refused(where + ": its view has " +
                             std::to_string(parameter.view_strides()->size()) +
                             " strides, its type " + std::to_string(rank) +
                             " dimensions");
    return Status();
  }

  Status checkEntry(const fb::Entry &entry) {
    std::string where = "entry '" + entry.name()->str() + "'";
    if (entry.programs()->size() != root.stages())
      return Status::refused(
          where + " has " + std::to_string(entry.programs()->size()) +
          " programs, the plan " + std::to_string(root.stages()) + " stages");
    if (entry.microbatches() < 1 || entry.microbatches() > kMaxMicrobatches)
      return Status::refused(
          where + " has " + std::to_string(entry.microbatches()) +
          " microbatches, expected 1 to " + std::to_string(kMaxMicrobatches));
    TANDEM_TRY(ports(entry, *entry.inputs(), where + ", input"));
    TANDEM_TRY(ports(entry, *entry.outputs(), where + ", output"));
    for (uint32_t stage = 0; stage < root.stages(); ++stage) {
      TANDEM_TRY(values(entry, stage));
      TANDEM_TRY(actions(entry, stage));
      TANDEM_TRY(schedule(entry, stage));
      TANDEM_TRY(program(entry, stage));
    }
    return Status();
  }

  Status ports(const fb::Entry &entry,
               const flatbuffers::Vector<flatbuffers::Offset<fb::Port>> &ports,
               const std::string &kind) {
    std::set<std::string> names;
    for (const fb::Port *port : ports) {
      std::string where = kind + " '" + port->name()->str() + "'";
      if (!names.insert(port->name()->str()).second)
        return Status::refused(where + " is named twice");
      TANDEM_TRY(inRange(where, "type", port->type(), root.types()->size()));
      if (port->parameter() != kNone)
        TANDEM_TRY(inRange(where, "parameter", port->parameter(),
                           root.parameters()->size()));
      if (port->values()->size() != root.stages())
        return Status::refused(where + " says its values in " +
                               std::to_string(port->values()->size()) +
                               " programs, there are " +
                               std::to_string(root.stages()));
      for (uint32_t stage = 0; stage < root.stages(); ++stage)
        if (port->values()->Get(stage) != kNone)
          TANDEM_TRY(inRange(where, "value", port->values()->Get(stage),
                             entry.programs()->Get(stage)->values()->size()));
    }
    return Status();
  }

  template <typename T> static bool holds(const T &item, uint32_t stage) {
    for (uint32_t held : *item.stages())
      if (held == stage)
        return true;
    return false;
  }

  Status values(const fb::Entry &entry, uint32_t stage) {
    const auto &values = *entry.programs()->Get(stage)->values();
    for (uint32_t v = 0; v < values.size(); ++v) {
      const fb::Value &value = *values.Get(v);
      std::string where = "entry '" + entry.name()->str() + "', pp " +
                          std::to_string(stage) + ", value " +
                          std::to_string(v);
      TANDEM_TRY(inRange(where, "type", value.type(), root.types()->size()));
      TANDEM_TRY(inRange(where, "region", static_cast<uint64_t>(value.region()),
                         static_cast<uint64_t>(fb::Region::MAX) + 1));
      bool held = true;
      if (value.region() == fb::Region::Parameter) {
        TANDEM_TRY(inRange(where, "parameter", value.index(),
                           root.parameters()->size()));
        held = holds(*root.parameters()->Get(value.index()), stage);
      } else if (value.region() == fb::Region::State) {
        TANDEM_TRY(
            inRange(where, "state", value.index(), root.states()->size()));
        held = holds(*root.states()->Get(value.index()), stage);
      } else if (value.region() == fb::Region::Slot) {
        TANDEM_TRY(inRange(where, "pool", value.index(),
                           entry.programs()->Get(stage)->pools()->size()));
      } else if (value.region() == fb::Region::Microbatch) {
        TANDEM_TRY(inRange(where, "value", value.index(), values.size()));
        if (values.Get(value.index())->region() != fb::Region::Arena)
          return Status::refused(where + ": it is a slice of value " +
                                 std::to_string(value.index()) +
                                 ", which does not lie in the arena");
      }
      if (!held)
        return Status::refused(where + ": the stage does not hold " +
                               fb::EnumNameRegion(value.region()) + " " +
                               std::to_string(value.index()));
    }
    return Status();
  }

  Status program(const fb::Entry &entry, uint32_t stage) {
    const fb::Program &program = *entry.programs()->Get(stage);
    stepCount = program.instructions()->size();
    lastSlot = 0;
    for (const fb::ScheduleItem *item : *program.schedule()) {
      stepCount += program.actions()->Get(item->action())->count();
      lastSlot = std::max<uint64_t>(lastSlot, item->slot());
    }
    for (uint32_t i = 0; i < program.instructions()->size(); ++i) {
      // Making the text of a place costs more than checking it.
      const fb::Instruction &instruction = *program.instructions()->Get(i);
      if (isSound(program, instruction))
        continue;
      TANDEM_TRY(checkInstruction(program, instruction,
                                  describe(plan, entry, stage, i)));
    }
    return Status();
  }

  /// Actions hold every instruction, one behind the other.
  Status actions(const fb::Entry &entry, uint32_t stage) {
    const fb::Program &program = *entry.programs()->Get(stage);
    std::string where =
        "entry '" + entry.name()->str() + "', pp " + std::to_string(stage);
    uint32_t end =
        program.actions()->size() == 0 ? program.instructions()->size() : 0;
    for (uint32_t a = 0; a < program.actions()->size(); ++a) {
      const fb::Action &action = *program.actions()->Get(a);
      std::string name = where + ", action " + std::to_string(a);
      TANDEM_TRY(inRange(name, "name", action.name(), root.strings()->size()));
      if (action.pool() != kNone)
        TANDEM_TRY(
            inRange(name, "pool", action.pool(), program.pools()->size()));
      if (action.first() != end)
        return Status::refused(
            name + " begins at instruction " + std::to_string(action.first()) +
            ", the one before it ends at " + std::to_string(end));
      TANDEM_TRY(inRange(name, "last instruction",
                         uint64_t(end) + action.count(),
                         uint64_t(program.instructions()->size()) + 1));
      end += action.count();
    }
    if (end != program.instructions()->size())
      return Status::refused(where + ": its actions end at instruction " +
                             std::to_string(end) + " of " +
                             std::to_string(program.instructions()->size()));
    return last(program, where);
  }

  /// Each lies in an action that runs for several microbatches, and leaves it
  /// something to do.
  Status last(const fb::Program &program, const std::string &where) {
    if (!program.last())
      return Status();
    uint32_t a = 0, before = 0, count = 0;
    for (uint32_t index : *program.last()) {
      TANDEM_TRY(inRange(where, "instruction of the last microbatch", index,
                         program.instructions()->size()));
      if (count > 0 && index <= before)
        return Status::refused(where + ": its instructions of the last " +
                               "microbatch do not ascend");
      before = index;
      ++count;
      while (a < program.actions()->size() &&
             index >= program.actions()->Get(a)->first() +
                          program.actions()->Get(a)->count())
        ++a;
      if (a == program.actions()->size() ||
          program.actions()->Get(a)->pool() == kNone)
        return Status::refused(
            where + ", instruction " + std::to_string(index) +
            ": it is of the last microbatch, but its " + "action runs once");
    }
    return Status();
  }

  Status schedule(const fb::Entry &entry, uint32_t stage) {
    const fb::Program &program = *entry.programs()->Get(stage);
    std::string where =
        "entry '" + entry.name()->str() + "', pp " + std::to_string(stage);
    if (program.schedule()->size() == 0 &&
        program.actions()->size() + program.pools()->size() > 0)
      return Status::refused(where + " has actions or pools of slots, but no "
                                     "schedule");
    uint64_t steps = 0;
    for (uint32_t i = 0; i < program.schedule()->size(); ++i) {
      const fb::ScheduleItem &item = *program.schedule()->Get(i);
      std::string name = where + ", schedule item " + std::to_string(i);
      TANDEM_TRY(
          inRange(name, "action", item.action(), program.actions()->size()));
      uint32_t pool = program.actions()->Get(item.action())->pool();
      bool hasPool = pool != kNone;
      TANDEM_TRY(inRange(name, "microbatch", item.microbatch(),
                         hasPool ? entry.microbatches() : 1));
      TANDEM_TRY(inRange(name, "slot", item.slot(),
                         hasPool ? program.pools()->Get(pool)->count() : 1));
      steps += program.actions()->Get(item.action())->count();
    }
    if (steps > kMaxSteps)
      return Status::refused(where + ": its schedule makes " +
                             std::to_string(steps) + " steps, at most " +
                             std::to_string(kMaxSteps) + " are allowed");
    return Status();
  }

  bool isSound(const fb::Program &program, const fb::Instruction &instruction) {
    return checkInstruction(program, instruction, std::string()).ok();
  }

  Status checkInstruction(const fb::Program &program, const fb::Instruction &i,
                          const std::string &where) {
    TANDEM_TRY(inRange(where, "operation", static_cast<uint64_t>(i.op()),
                       static_cast<uint64_t>(fb::Opcode::MAX) + 1));
    TANDEM_TRY(inRange(where, "reduction kind",
                       static_cast<uint64_t>(i.reduction()),
                       static_cast<uint64_t>(fb::ReductionKind::MAX) + 1));
    TANDEM_TRY(inRange(where, "stream", i.stream(), kMaxStreams));
    TANDEM_TRY(arguments(program, i, where));
    TANDEM_TRY(
        inRange(where, "axis list", i.axes(), root.axis_lists()->size()));
    TANDEM_TRY(target(i, where));
    TANDEM_TRY(inRange(where, "last number",
                       uint64_t(i.first_number()) + i.numbers_count(),
                       uint64_t(root.numbers()->size()) + 1));
    if (i.cause() != kNone)
      TANDEM_TRY(inRange(where, "cause", i.cause(), root.strings()->size()));
    if (i.location() != kNone)
      TANDEM_TRY(
          inRange(where, "location", i.location(), root.strings()->size()));
    return Status();
  }

  Status arguments(const fb::Program &program, const fb::Instruction &i,
                   const std::string &where) {
    if (i.workspaces() > 1)
      return Status::refused(where + ": it has " +
                             std::to_string(i.workspaces()) +
                             " workspaces, at most 1 is allowed");
    uint64_t count = uint64_t(i.inputs()) + i.outputs() + i.workspaces();
    TANDEM_TRY(inRange(where, "last argument", i.first_arg() + count,
                       uint64_t(program.args()->size()) + 1));
    for (uint64_t a = 0; a < count; ++a)
      TANDEM_TRY(inRange(where, "value", program.args()->Get(i.first_arg() + a),
                         program.values()->size()));
    return Status();
  }

  Status target(const fb::Instruction &i, const std::string &where) {
    switch (i.op()) {
    case fb::Opcode::Launch:
      TANDEM_TRY(inRange(where, "rule", i.rule(), root.rules()->size()));
      return inRange(where, "kernel", i.target(), root.kernels()->size());
    case fb::Opcode::Send:
    case fb::Opcode::Recv:
      TANDEM_TRY(inRange(where, "lane", i.dim(), kMaxLanes));
      return inRange(where, "peer", i.target(), root.stages());
    case fb::Opcode::Broadcast:
      return inRange(where, "root", i.target(),
                     static_cast<uint64_t>(sizeOf(plan.axisList(i.axes()))));
    case fb::Opcode::Record:
    case fb::Opcode::Wait:
      TANDEM_TRY(inRange(where, "event of a slot", i.dim(), 2));
      return inRange(where, "event", i.target() + (i.dim() ? lastSlot : 0),
                     stepCount);
    default:
      return Status();
    }
  }

  const Plan &plan;
  const fb::Plan &root;
  std::set<std::string> parameters;
  /// Of the program in hand. Each event has a step that records it.
  uint64_t stepCount = 0, lastSlot = 0;
};

} // namespace

bool isElementType(uint8_t number) {
  return number <= static_cast<uint8_t>(DType::U64) ||
         (number >= static_cast<uint8_t>(DType::Q4_0) &&
          number <= static_cast<uint8_t>(DType::Q6_K));
}

Status checkStructure(const Plan &plan) { return StructureCheck(plan).run(); }

const char *name(fb::Opcode op) {
  static const char *const names[] = {
      "launch",     "all_reduce", "all_gather", "reduce_scatter",
      "all_to_all", "all_slice",  "permute",    "broadcast",
      "send",       "recv",       "record",     "wait"};
  return op <= fb::Opcode::MAX ? names[static_cast<int>(op)] : "unknown";
}

namespace {

std::string microbatchText(uint32_t microbatch) {
  return microbatch == kNone ? ""
                             : " of microbatch " + std::to_string(microbatch);
}

} // namespace

std::string instructionName(const char *what, uint32_t instruction,
                            uint32_t microbatch) {
  return std::string(what) + " #" + std::to_string(instruction) +
         microbatchText(microbatch);
}

std::string describe(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                     uint32_t instruction, uint32_t microbatch) {
  const fb::Instruction &i =
      *entry.programs()->Get(stage)->instructions()->Get(instruction);
  std::string what = name(i.op());
  if (i.op() == fb::Opcode::Launch &&
      i.target() < plan.table().kernels()->size())
    what = plan.kernel(i.target());
  std::string text = "entry '" + entry.name()->str() + "', pp " +
                     std::to_string(stage) + ", instruction " +
                     std::to_string(instruction) + " (" + what + ")" +
                     microbatchText(microbatch);
  if (i.location() < plan.table().strings()->size())
    text += std::string(" at ") + plan.string(i.location());
  return text;
}

} // namespace tandem

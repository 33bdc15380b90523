#include "runtime/plan/MemoryCheck.h"
#include "runtime/plan/LaunchTypes.h"
#include "runtime/plan/StreamOrder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace tandem {
namespace {

/// Bytes with one owner, and who touched them since it was written.
struct Segment {
  uint64_t end = 0;
  uint32_t owner = kNone; ///< A value, or the one whose bytes it shares.
  Access written;
  std::vector<Access> reads; ///< The last of each stream.
};

class MemoryCheck {
public:
  MemoryCheck(const Plan &plan, const fb::Entry &entry, uint32_t stage)
      : plan(plan), entry(entry), stage(stage),
        program(*entry.programs()->Get(stage)), order(program),
        root(program.values()->size(), kNone),
        isInitial(program.values()->size(), false),
        isTouched(program.values()->size(), false) {}

  Status run(uint64_t &arenaEnd) {
    for (uint32_t v = 0; v < program.values()->size(); ++v) {
      TANDEM_TRY(checkExtent(v));
      const fb::Value &value = *program.values()->Get(v);
      if (value.region() == fb::Region::Arena)
        arenaEnd = std::max(arenaEnd, value.offset() + value.bytes());
    }
    findInitial();
    TANDEM_TRY(takeInputs());
    TANDEM_TRY(walkProgram(plan, entry, stage,
                           [&](const Step &step) { return visit(step); }));
    TANDEM_TRY(checkOutputs());
    return checkUsed();
  }

private:
  using Segments = std::map<uint64_t, Segment>;

  std::string where(uint32_t v) const {
    return "entry '" + entry.name()->str() + "', pp " + std::to_string(stage) +
           ", value " + std::to_string(v);
  }

  Status checkExtent(uint32_t v) const {
    const fb::Value &value = *program.values()->Get(v);
    const TensorType &type = plan.type(value.type());
    uint64_t bytes = static_cast<uint64_t>(type.localBytes());
    if (value.bytes() != bytes)
      return Status::refused(where(v) + " has " +
                             std::to_string(value.bytes()) +
                             " bytes, its type " + type.toString(plan.mesh()) +
                             " " + std::to_string(bytes));
    if (value.region() != fb::Region::Arena)
      return Status();
    if (value.offset() > (uint64_t(1) << 62))
      return Status::refused(where(v) + " lies beyond any memory, at byte " +
                             std::to_string(value.offset()));
    if (value.offset() % static_cast<uint64_t>(blockBytes(type.dtype)) != 0 &&
        !isQuantised(type.dtype))
      return Status::refused(where(v) + " lies at byte " +
                             std::to_string(value.offset()) +
                             ", which is not aligned to its elements");
    return Status();
  }

  Status takeInputs() {
    for (const fb::Port *port : *entry.inputs()) {
      uint32_t v = port->values()->Get(stage);
      if (v == kNone)
        continue;
      const fb::Value &value = *program.values()->Get(v);
      std::string name = "input '" + port->name()->str() + "' of entry '" +
                         entry.name()->str() + "', pp " + std::to_string(stage);
      if (value.region() != fb::Region::Arena)
        return Status::refused(name + " does not lie in the arena");
      if (root[v] != kNone)
        return Status::refused(name + " has the value of another input");
      for (uint32_t other : ownersOf(value))
        if (other != kNone)
          return Status::refused(name + " overlaps another input, value " +
                                 std::to_string(other));
      root[v] = v;
      isTouched[v] = true;
      take(value, v, Access());
    }
    return Status();
  }

  Status checkOutputs() {
    for (const fb::Port *port : *entry.outputs()) {
      uint32_t v = port->values()->Get(stage);
      if (v == kNone)
        continue;
      std::string why = whyUnreadable(v);
      if (!why.empty())
        return Status::refused("output '" + port->name()->str() +
                               "' of entry '" + entry.name()->str() + "', pp " +
                               std::to_string(stage) + ": " + why);
    }
    return Status();
  }

  /// The first value of a state is what earlier calls left there; every value
  /// of a parameter's own type is what was loaded.
  void findInitial() {
    std::set<uint32_t> seen;
    for (uint32_t v = 0; v < program.values()->size(); ++v) {
      const fb::Value &value = *program.values()->Get(v);
      if (value.region() == fb::Region::State)
        isInitial[v] = seen.insert(value.index()).second;
      if (value.region() == fb::Region::Parameter)
        isInitial[v] =
            plan.type(value.type()) ==
            plan.type(plan.table().parameters()->Get(value.index())->type());
    }
  }

  /// A value that nothing touches belonged to an instruction that is missing,
  /// such as a cache's update.
  Status checkUsed() const {
    for (uint32_t v = 0; v < program.values()->size(); ++v) {
      bool mayRest = isInitial[v] || program.values()->Get(v)->region() ==
                                         fb::Region::Parameter;
      if (!mayRest && !isTouched[v])
        return Status::refused(where(v) +
                               " is neither written nor read by anything");
    }
    return Status();
  }

  Status visit(const Step &step) {
    order.advance(step.instruction(), step.index());
    for (uint32_t i = 0; i < step.inputs(); ++i)
      isTouched[step.input(i)] = true;
    for (uint32_t i = 0; i < step.inputs(); ++i)
      TANDEM_TRY(read(step, step.input(i)));
    for (uint32_t i = 0; i < step.outputs(); ++i)
      TANDEM_TRY(checkWrite(step, step.output(i)));
    if (step.workspace() != kNone)
      TANDEM_TRY(checkWorkspace(step));
    for (uint32_t i = 0; i < step.outputs(); ++i)
      TANDEM_TRY(checkOverlaps(step, i));
    for (uint32_t i = 0; i < step.outputs(); ++i)
      write(step, step.output(i));
    if (step.workspace() != kNone)
      write(step, step.workspace());
    return Status();
  }

  //===--- Reading --------------------------------------------------------===//

  /// Empty where `v` owns all its bytes now.
  std::string whyUnreadable(uint32_t v) {
    const fb::Value &value = *program.values()->Get(v);
    std::string name = "value " + std::to_string(v);
    if (root[v] == kNone && !isInitial[v])
      return name + " is read before anything writes it";
    if (value.region() == fb::Region::Parameter)
      return "";
    for (uint32_t owner : ownersOf(value))
      if (owner != root[v])
        return owner == kNone
                   ? name + " is read where some of its bytes were never "
                            "written"
                   : name + " is read after its bytes went to value " +
                         std::to_string(owner) + ", written by instruction " +
                         std::to_string(writerOf(value, owner));
    return "";
  }

  Status read(const Step &step, uint32_t v) {
    std::string why = whyUnreadable(v);
    if (!why.empty())
      return step.refused(why);
    const fb::Value &value = step.value(v);
    if (value.region() == fb::Region::Parameter)
      return Status();
    uint32_t stream = order.numberOf(step.instruction());
    for (Segment *segment : segmentsOf(value)) {
      if (!order.isBefore(segment->written, stream))
        return step.refused(
            "it reads value " + std::to_string(v) + ", which instruction " +
            std::to_string(segment->written.index) +
            " writes on another stream without an event between them");
      noteRead(*segment, {stream, step.index()});
    }
    return Status();
  }

  static void noteRead(Segment &segment, Access access) {
    for (Access &read : segment.reads)
      if (read.stream == access.stream) {
        read = access;
        return;
      }
    segment.reads.push_back(access);
  }

  //===--- Writing --------------------------------------------------------===//

  /// What a write needs of the value itself and of earlier accesses.
  Status checkWrite(const Step &step, uint32_t v) {
    const fb::Value &value = step.value(v);
    std::string name = "value " + std::to_string(v);
    if (value.region() == fb::Region::Parameter) {
      if (isReshape(step) && sameBytes(value, step.value(step.input(0))))
        return Status();
      return step.refused("it writes " + name + ", a parameter");
    }
    if (root[v] != kNone)
      return step.refused(name + " is written twice");
    return checkRaces(step, value, name);
  }

  Status checkRaces(const Step &step, const fb::Value &value,
                    const std::string &name) {
    uint32_t stream = order.numberOf(step.instruction());
    for (const Segment *segment : segmentsOf(value)) {
      int64_t index = step.index();
      auto late = [&](const Access &access) {
        return access.index != index && !order.isBefore(access, stream);
      };
      if (late(segment->written))
        return step.refused("it writes over bytes of " + name +
                            " that instruction " +
                            std::to_string(segment->written.index) +
                            " writes on another stream without an event "
                            "between them");
      for (const Access &read : segment->reads)
        if (late(read))
          return step.refused("it writes over bytes of " + name +
                              " that instruction " +
                              std::to_string(read.index) +
                              " reads on another stream without an event "
                              "between them");
    }
    return Status();
  }

  Status checkWorkspace(const Step &step) {
    uint32_t v = step.workspace();
    const fb::Value &value = step.value(v);
    if (value.region() != fb::Region::Arena)
      return step.refused("its workspace does not lie in the arena");
    TANDEM_TRY(checkWrite(step, v));
    for (uint32_t i = 0; i < step.inputs() + step.outputs(); ++i) {
      bool isInput = i < step.inputs();
      uint32_t other = isInput ? step.input(i) : step.output(i - step.inputs());
      if (overlap(value, step.value(other)))
        return step.refused("its workspace overlaps its " +
                            std::string(isInput ? "input" : "output") +
                            ", value " + std::to_string(other));
    }
    return Status();
  }

  static bool overlap(const fb::Value &a, const fb::Value &b) {
    if (a.region() != b.region() || a.bytes() == 0 || b.bytes() == 0)
      return false;
    if (a.region() != fb::Region::Arena)
      return a.index() == b.index();
    return a.offset() < b.offset() + b.bytes() &&
           b.offset() < a.offset() + a.bytes();
  }

  static bool sameBytes(const fb::Value &a, const fb::Value &b) {
    return a.region() == b.region() && a.bytes() == b.bytes() &&
           (a.region() == fb::Region::Arena ? a.offset() == b.offset()
                                            : a.index() == b.index());
  }

  Status checkOverlaps(const Step &step, uint32_t output) {
    uint32_t v = step.output(output);
    const fb::Value &value = step.value(v);
    for (uint32_t i = 0; i < output; ++i)
      if (overlap(value, step.value(step.output(i))))
        return step.refused("its outputs, values " +
                            std::to_string(step.output(i)) + " and " +
                            std::to_string(v) + ", overlap");
    for (uint32_t i = 0; i < step.inputs(); ++i) {
      const fb::Value &input = step.value(step.input(i));
      if (!overlap(value, input))
        continue;
      if (!sameBytes(value, input) || !mayBeInPlace(step, i, output))
        return step.refused("its output, value " + std::to_string(v) +
                            ", overlaps its input, value " +
                            std::to_string(step.input(i)) +
                            ", although it does not work in place");
    }
    return Status();
  }

  static bool mayBeInPlace(const Step &step, uint32_t input, uint32_t output) {
    switch (step.op()) {
    case fb::Opcode::AllReduce:
    case fb::Opcode::Broadcast:
      return true;
    case fb::Opcode::Launch:
      return isReshape(step) || (input < step.rule().operands.size() &&
                                 output < step.rule().results.size() &&
                                 sameOrder(step.rule().operands[input],
                                           step.rule().results[output]));
    default:
      return false;
    }
  }

  static bool isReshape(const Step &step) {
    return step.op() == fb::Opcode::Launch && step.inputs() == 1 &&
           std::strcmp(step.what(), "reshape") == 0;
  }

  void write(const Step &step, uint32_t v) {
    const fb::Value &value = step.value(v);
    isTouched[v] = true;
    // A reshape on the spot leaves its operand alive.
    if (isReshape(step) && sameBytes(value, step.value(step.input(0)))) {
      root[v] = root[step.input(0)];
      isInitial[v] = isInitial[step.input(0)];
      return;
    }
    root[v] = v;
    take(value, v, {order.numberOf(step.instruction()), int64_t(step.index())});
  }

  //===--- Segments -------------------------------------------------------===//

  /// The bytes' map and range: of the arena, or one map for each state.
  Segments &mapOf(const fb::Value &value, uint64_t &begin) {
    begin = 0;
    if (value.region() == fb::Region::Arena) {
      begin = value.offset();
      return arena;
    }
    Segments &state = states[value.index()];
    if (state.empty() && value.bytes() > 0) // What earlier calls left there.
      state[0] = {value.bytes(), kNone, Access(), {}};
    return state;
  }

  std::vector<Segment *> segmentsOf(const fb::Value &value) {
    uint64_t begin;
    Segments &map = mapOf(value, begin);
    std::vector<Segment *> found;
    auto it = map.upper_bound(begin);
    if (it != map.begin() && std::prev(it)->second.end > begin)
      --it;
    for (; it != map.end() && it->first < begin + value.bytes(); ++it)
      found.push_back(&it->second);
    return found;
  }

  /// The owners of a value's bytes; kNone among them where nobody wrote.
  std::vector<uint32_t> ownersOf(const fb::Value &value) {
    uint64_t begin;
    Segments &map = mapOf(value, begin);
    std::vector<uint32_t> owners;
    uint64_t at = begin, end = begin + value.bytes();
    auto it = map.upper_bound(begin);
    if (it != map.begin() && std::prev(it)->second.end > begin)
      --it;
    for (; it != map.end() && it->first < end; ++it) {
      if (it->first > at)
        owners.push_back(kNone);
      owners.push_back(it->second.owner);
      at = it->second.end;
    }
    if (at < end)
      owners.push_back(kNone);
    return owners;
  }

  int64_t writerOf(const fb::Value &value, uint32_t owner) {
    for (const Segment *segment : segmentsOf(value))
      if (segment->owner == owner)
        return segment->written.index;
    return -1;
  }

  /// Makes `owner` the owner of a value's bytes. What was read there before
  /// is forgotten: it ran before this write.
  void take(const fb::Value &value, uint32_t owner, Access access) {
    if (value.bytes() == 0)
      return;
    uint64_t begin;
    Segments &map = mapOf(value, begin);
    uint64_t end = begin + value.bytes();
    cut(map, begin);
    cut(map, end);
    map.erase(map.lower_bound(begin), map.lower_bound(end));
    map[begin] = {end, owner, access, {}};
  }

  /// Makes a segment end at `at` if one goes across.
  static void cut(Segments &map, uint64_t at) {
    auto it = map.lower_bound(at);
    if (it == map.begin())
      return;
    --it;
    if (it->second.end <= at)
      return;
    Segment rest = it->second;
    it->second.end = at;
    map[at] = std::move(rest);
  }

  const Plan &plan;
  const fb::Entry &entry;
  uint32_t stage;
  const fb::Program &program;
  StreamOrder order;
  /// By value: who owns its bytes while it lives; kNone before it is written.
  std::vector<uint32_t> root;
  std::vector<bool> isInitial, isTouched;
  Segments arena;
  std::map<uint32_t, Segments> states;
};

} // namespace

Status checkMemory(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                   uint64_t &arenaEnd) {
  return MemoryCheck(plan, entry, stage).run(arenaEnd);
}

} // namespace tandem

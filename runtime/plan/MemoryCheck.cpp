#include "runtime/plan/MemoryCheck.h"
#include "runtime/plan/LaunchTypes.h"
#include "runtime/plan/PlacementCheck.h"
#include "runtime/plan/Places.h"
#include "runtime/plan/RangeMap.h"
#include "runtime/plan/StreamOrder.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace tandem {
namespace {

/// What one run of one instruction wrote. Values that a reshape makes of it
/// on the spot share it.
struct Instance {
  uint32_t value = 0;
  /// Of the run; kNone where what wrote it runs once.
  uint32_t microbatch = kNone;
  uint32_t updates = 0; ///< How many runs have updated it in place.
};

/// Bytes with one owner, and who touched them since they were written.
struct Held {
  uint32_t owner = kNone; ///< Index of an Instance.
  Access written;
  std::vector<Access> reads; ///< The last of each stream.
};

constexpr uint64_t kMostBytes = uint64_t(1) << 62;

class MemoryCheck {
public:
  MemoryCheck(const Plan &plan, const fb::Entry &entry, uint32_t stage)
      : plan(plan), entry(entry), stage(stage),
        program(*entry.programs()->Get(stage)), sequence(plan, entry, stage),
        order(program), isInitial(program.values()->size(), false),
        isTouched(program.values()->size(), false),
        writers(program.values()->size(), kNone),
        updaters(program.values()->size(), kNone) {
    for (const fb::Value *value : *program.values()) {
      firstCell.push_back(static_cast<uint32_t>(instanceOf.size()));
      uint32_t count = value->region() == fb::Region::Slot
                           ? program.pools()->Get(value->index())->count()
                           : 1;
      instanceOf.resize(instanceOf.size() + count, kNone);
    }
  }

  Status run(uint64_t &arenaEnd) {
    TANDEM_TRY(checkPools(arenaEnd));
    for (uint32_t v = 0; v < program.values()->size(); ++v) {
      TANDEM_TRY(checkExtent(v));
      const fb::Value &value = *program.values()->Get(v);
      if (value.region() == fb::Region::Arena)
        arenaEnd = std::max(arenaEnd, value.offset() + value.bytes());
    }
    findInitial();
    TANDEM_TRY(takeInputs());
    TANDEM_TRY(walkInstructions(plan, entry, stage, [&](const Step &step) {
      noteWriters(step);
      return Status();
    }));
    TANDEM_TRY(sequence.each([&](const Step &step) { return visit(step); }));
    TANDEM_TRY(checkOutputs());
    return checkUsed();
  }

private:
  std::string where(uint32_t v) const {
    return "entry '" + entry.name()->str() + "', pp " + std::to_string(stage) +
           ", value " + std::to_string(v);
  }

  /// `instruction 12 of microbatch 3`, by its position.
  std::string at(int64_t position) const {
    if (position < 0)
      return "an input";
    Step step = sequence.at(static_cast<uint32_t>(position));
    std::string text = "instruction " + std::to_string(step.index());
    if (step.shownMicrobatch() != kNone)
      text += " of microbatch " + std::to_string(step.microbatch());
    return text;
  }

  //===--- Extents --------------------------------------------------------===//

  Status checkPools(uint64_t &arenaEnd) const {
    for (uint32_t p = 0; p < program.pools()->size(); ++p) {
      const fb::SlotPool &pool = *program.pools()->Get(p);
      std::string name = "entry '" + entry.name()->str() + "', pp " +
                         std::to_string(stage) + ", pool " + std::to_string(p);
      __int128 end = __int128(pool.bytes()) * pool.count() + pool.base();
      if (end > kMostBytes)
        return Status::refused(name + " lies beyond any memory");
      arenaEnd = std::max(arenaEnd, static_cast<uint64_t>(end));
      uint64_t used = 0;
      for (const fb::Value *value : *program.values())
        if (value->region() == fb::Region::Slot && value->index() == p)
          used = std::max(used, value->offset() + value->bytes());
      if (pool.bytes() < used || pool.bytes() - used > kMemorySlack)
        return Status::refused(
            name + " declares slots of " + std::to_string(pool.bytes()) +
            " bytes, its values end at byte " + std::to_string(used));
    }
    return Status();
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
    if (value.region() != fb::Region::Arena &&
        value.region() != fb::Region::Slot)
      return Status();
    if (value.offset() > kMostBytes)
      return Status::refused(where(v) + " lies beyond any memory, at byte " +
                             std::to_string(value.offset()));
    if (isQuantised(type.dtype))
      return Status();
    // Of every slot, if the pool's base and step are.
    uint64_t element = static_cast<uint64_t>(blockBytes(type.dtype));
    uint64_t odd = value.offset() % element;
    if (value.region() == fb::Region::Slot) {
      const fb::SlotPool &pool = *program.pools()->Get(value.index());
      odd += pool.base() % element + pool.bytes() % element;
    }
    if (odd != 0)
      return Status::refused(where(v) + " lies at byte " +
                             std::to_string(value.offset()) +
                             ", which is not aligned to its elements");
    return Status();
  }

  //===--- Beginning and end ----------------------------------------------===//

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
      if (instanceOf[firstCell[v]] != kNone)
        return Status::refused(name + " has the value of another input");
      Place place = placeOf(program, value, 0, 0);
      for (uint32_t other : ownersOf(place))
        if (other != kNone)
          return Status::refused(name + " overlaps another input, value " +
                                 std::to_string(instances[other].value));
      isTouched[v] = true;
      writers[v] = kInput;
      begin(v, firstCell[v], kNone, place, Access());
    }
    return Status();
  }

  Status checkOutputs() {
    for (const fb::Port *port : *entry.outputs()) {
      uint32_t v = port->values()->Get(stage);
      if (v == kNone)
        continue;
      std::string name = "output '" + port->name()->str() + "' of entry '" +
                         entry.name()->str() + "', pp " + std::to_string(stage);
      fb::Region region = program.values()->Get(v)->region();
      if (region == fb::Region::Slot || region == fb::Region::Microbatch)
        return Status::refused(name + " is of one microbatch");
      std::string why = whyUnreadable(v, nullptr);
      if (!why.empty())
        return Status::refused(name + ": " + why);
    }
    return Status();
  }

  bool isTrained(const fb::Value &value) const {
    return value.region() == fb::Region::Parameter &&
           plan.table().parameters()->Get(value.index())->trained();
  }

  /// The first value of what lives on is what earlier calls left there; every
  /// value of the own type of a parameter that never changes is what was
  /// loaded. Slices are there as soon as their whole is.
  void findInitial() {
    std::set<std::pair<fb::Region, uint32_t>> seen;
    for (uint32_t v = 0; v < program.values()->size(); ++v) {
      const fb::Value &value = *program.values()->Get(v);
      if (value.region() == fb::Region::State || isTrained(value))
        isInitial[v] = seen.insert({value.region(), value.index()}).second;
      else if (value.region() == fb::Region::Parameter)
        isInitial[v] =
            plan.type(value.type()) ==
            plan.type(plan.table().parameters()->Get(value.index())->type());
    }
  }

  /// A value that nothing touches belonged to an instruction that is missing,
  /// such as a cache's update.
  Status checkUsed() const {
    for (uint32_t v = 0; v < program.values()->size(); ++v) {
      const fb::Value &value = *program.values()->Get(v);
      bool mayRest = isInitial[v] || (value.region() == fb::Region::Parameter &&
                                      !isTrained(value));
      if (!mayRest && !isTouched[v])
        return Status::refused(where(v) +
                               " is neither written nor read by anything");
    }
    return Status();
  }

  //===--- Writers --------------------------------------------------------===//

  static bool updates(const Step &step, uint32_t v) {
    for (uint32_t i = 0; i < step.inputs(); ++i)
      if (step.input(i) == v)
        return true;
    return false;
  }

  /// One instruction writes a value, another one may update it: the first of
  /// each in the program.
  void noteWriters(const Step &step) {
    for (uint32_t i = 0; i < step.outputs(); ++i)
      noteWriter(step, step.output(i));
    if (step.workspace() != kNone)
      noteWriter(step, step.workspace());
  }

  void noteWriter(const Step &step, uint32_t v) {
    uint32_t &writer = writerFor(step, v);
    if (writer == kNone)
      writer = step.index();
  }

  uint32_t &writerFor(const Step &step, uint32_t v) {
    return (updates(step, v) ? updaters : writers)[v];
  }

  bool isReadOnly(const fb::Value &value) const {
    return value.region() == fb::Region::Microbatch ||
           (value.region() == fb::Region::Parameter && !isTrained(value));
  }

  Status visit(const Step &step) {
    order.advance(step);
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

  Place place(const Step &step, uint32_t v) const {
    return placeOf(program, step.value(v), step.microbatch(), step.slot());
  }

  uint32_t cellOf(const Step *step, uint32_t v) const {
    const fb::Value &value = *program.values()->Get(v);
    if (value.region() == fb::Region::Microbatch)
      return firstCell[value.index()];
    return firstCell[v] +
           (step && value.region() == fb::Region::Slot ? step->slot() : 0);
  }

  //===--- Reading --------------------------------------------------------===//

  /// Empty where `v` owns all its bytes at `step`, null for the end.
  std::string whyUnreadable(uint32_t v, const Step *step) {
    const fb::Value &value = *program.values()->Get(v);
    std::string name = "value " + std::to_string(v);
    uint32_t instance = instanceOf[cellOf(step, v)];
    if (instance == kNone && !isInitial[v])
      return name + " is read before anything writes it" +
             (step && step->pool() != kNone && entry.microbatches() > 1
                  ? " for microbatch " + std::to_string(step->microbatch())
                  : "");
    if (isReadOnly(value) && value.region() == fb::Region::Parameter)
      return "";
    if (instance != kNone) {
      std::string why = whyOfAnother(v, instances[instance], step);
      if (!why.empty())
        return name + why;
    }
    Place bytes = step ? place(*step, v) : placeOf(program, value, 0, 0);
    for (uint32_t owner : ownersOf(bytes))
      if (owner != instance)
        return owner == kNone
                   ? name + " is read where some of its bytes were never "
                            "written"
                   : name + " is read after its bytes went to value " +
                         std::to_string(instances[owner].value) +
                         ", written by " + at(writerOf(bytes, owner));
    return "";
  }

  /// Why what lies there is not what `step` means; empty where it is.
  std::string whyOfAnother(uint32_t v, const Instance &instance,
                           const Step *step) const {
    uint32_t reader = step ? step->scope() : kNone;
    if (entry.microbatches() > 1 && instance.microbatch != kNone) {
      if (reader == kNone)
        return " is of microbatch " + std::to_string(instance.microbatch) +
               " alone where it is read for all";
      if (reader != instance.microbatch)
        return " is of microbatch " + std::to_string(instance.microbatch) +
               " where microbatch " + std::to_string(reader) + " reads it";
    }
    uint32_t updater = updaters[v];
    if (updater == kNone || (step && step->index() == updater))
      return "";
    uint32_t runs =
        instance.microbatch == kNone ? runsOf(entry, stage, updater) : 1;
    if (instance.updates < runs)
      return " is read after " + std::to_string(instance.updates) + " of its " +
             std::to_string(runs) + " updates";
    return "";
  }

  Status read(const Step &step, uint32_t v) {
    std::string why = whyUnreadable(v, &step);
    if (!why.empty())
      return step.refused(why);
    Place bytes = place(step, v);
    if (isReadOnly(step.value(v)) && bytes.region == fb::Region::Parameter)
      return Status();
    uint32_t stream = order.numberOf(step.instruction());
    int64_t unordered = -1;
    mapOf(bytes).each(bytes.begin, bytes.end(),
                      [&](uint64_t, uint64_t, Held &held) {
                        if (!order.isBefore(held.written, stream))
                          unordered = held.written.index;
                        noteRead(held, {stream, step.position()});
                        return unordered < 0;
                      });
    if (unordered >= 0)
      return step.refused("it reads value " + std::to_string(v) + ", which " +
                          at(unordered) +
                          " writes on another stream without an event between "
                          "them");
    return Status();
  }

  static void noteRead(Held &held, Access access) {
    for (Access &read : held.reads)
      if (read.stream == access.stream) {
        read = access;
        return;
      }
    held.reads.push_back(access);
  }

  //===--- Writing --------------------------------------------------------===//

  /// What a write needs of the value itself and of earlier accesses.
  Status checkWrite(const Step &step, uint32_t v) {
    const fb::Value &value = step.value(v);
    std::string name = "value " + std::to_string(v);
    if (isReadOnly(value)) {
      if (isReshape(step) && place(step, v) == place(step, step.input(0)))
        return Status();
      return step.refused("it writes " + name +
                          (value.region() == fb::Region::Parameter
                               ? ", a parameter"
                               : ", a slice of an input"));
    }
    if (writerFor(step, v) != step.index())
      return step.refused(name + " is written twice");
    return checkRaces(step, v, name);
  }

  Status checkRaces(const Step &step, uint32_t v, const std::string &name) {
    uint32_t stream = order.numberOf(step.instruction());
    std::string why;
    auto check = [&](const Access &access, const char *verb) {
      if (access.index != step.position() && !order.isBefore(access, stream))
        why = "it writes over bytes of " + name + " that " + at(access.index) +
              " " + verb + " on another stream without an event between them";
    };
    Place bytes = place(step, v);
    mapOf(bytes).each(
        bytes.begin, bytes.end(), [&](uint64_t, uint64_t, Held &held) {
          check(held.written, "writes");
          for (size_t i = 0; why.empty() && i < held.reads.size(); ++i)
            check(held.reads[i], "reads");
          return why.empty();
        });
    return why.empty() ? Status() : step.refused(why);
  }

  Status checkWorkspace(const Step &step) {
    uint32_t v = step.workspace();
    fb::Region region = step.value(v).region();
    if (region != fb::Region::Arena && region != fb::Region::Slot)
      return step.refused("its workspace does not lie in the arena");
    TANDEM_TRY(checkWrite(step, v));
    for (uint32_t i = 0; i < step.inputs() + step.outputs(); ++i) {
      bool isInput = i < step.inputs();
      uint32_t other = isInput ? step.input(i) : step.output(i - step.inputs());
      if (place(step, v).overlaps(place(step, other)))
        return step.refused("its workspace overlaps its " +
                            std::string(isInput ? "input" : "output") +
                            ", value " + std::to_string(other));
    }
    return Status();
  }

  Status checkOverlaps(const Step &step, uint32_t output) {
    uint32_t v = step.output(output);
    Place own = place(step, v);
    for (uint32_t i = 0; i < output; ++i)
      if (own.overlaps(place(step, step.output(i))))
        return step.refused("its outputs, values " +
                            std::to_string(step.output(i)) + " and " +
                            std::to_string(v) + ", overlap");
    for (uint32_t i = 0; i < step.inputs(); ++i) {
      Place input = place(step, step.input(i));
      if (!own.overlaps(input))
        continue;
      if (!(own == input) || !mayBeInPlace(step, i, output))
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
    isTouched[v] = true;
    Place bytes = place(step, v);
    uint32_t cell = cellOf(&step, v);
    // A reshape on the spot leaves its operand alive.
    if (isReshape(step) && bytes == place(step, step.input(0))) {
      instanceOf[cell] = instanceOf[cellOf(&step, step.input(0))];
      isInitial[v] = isInitial[step.input(0)];
      return;
    }
    Access access{order.numberOf(step.instruction()), step.position()};
    if (updates(step, v)) {
      ++instances[instanceOf[cell]].updates;
      take(bytes, instanceOf[cell], access);
      return;
    }
    begin(v, cell, step.scope(), bytes, access);
  }

  /// A new instance of `v`.
  void begin(uint32_t v, uint32_t cell, uint32_t microbatch, const Place &bytes,
             Access access) {
    instanceOf[cell] = static_cast<uint32_t>(instances.size());
    instances.push_back({v, microbatch, 0});
    take(bytes, instanceOf[cell], access);
  }

  //===--- Bytes ----------------------------------------------------------===//

  /// What is known of the arena, or of one parameter or state.
  RangeMap<Held> &mapOf(const Place &place) {
    if (place.region == fb::Region::Arena)
      return arena;
    RangeMap<Held> &map = persistent[{place.region, place.index}];
    if (map.empty()) // What earlier calls left there.
      map.set(place.begin, place.end(), Held());
    return map;
  }

  /// The owners of bytes; kNone among them where nobody wrote.
  std::vector<uint32_t> ownersOf(const Place &place) {
    std::vector<uint32_t> owners;
    uint64_t known = place.begin;
    mapOf(place).each(place.begin, place.end(),
                      [&](uint64_t begin, uint64_t end, Held &held) {
                        if (begin > known)
                          owners.push_back(kNone);
                        owners.push_back(held.owner);
                        known = end;
                        return true;
                      });
    if (known < place.end())
      owners.push_back(kNone);
    return owners;
  }

  int64_t writerOf(const Place &place, uint32_t owner) {
    int64_t writer = -1;
    mapOf(place).each(place.begin, place.end(),
                      [&](uint64_t, uint64_t, Held &held) {
                        if (held.owner == owner)
                          writer = held.written.index;
                        return writer < 0;
                      });
    return writer;
  }

  /// Makes `owner` the owner of bytes. What was read there before is
  /// forgotten: it ran before this write.
  void take(const Place &place, uint32_t owner, Access access) {
    mapOf(place).set(place.begin, place.end(), {owner, access, {}});
  }

  /// The writer of what callers give.
  static constexpr uint32_t kInput = kNone - 1;

  const Plan &plan;
  const fb::Entry &entry;
  uint32_t stage;
  const fb::Program &program;
  Sequence sequence;
  StreamOrder order;
  /// By value: its first cell, of as many as it has places.
  std::vector<uint32_t> firstCell;
  /// By cell: what was last written there, kNone before.
  std::vector<uint32_t> instanceOf;
  std::vector<Instance> instances;
  std::vector<bool> isInitial, isTouched;
  /// By value: the instruction that writes it and the one that updates it.
  std::vector<uint32_t> writers, updaters;
  RangeMap<Held> arena;
  std::map<std::pair<fb::Region, uint32_t>, RangeMap<Held>> persistent;
};

} // namespace

Status checkMemory(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                   uint64_t &arenaEnd) {
  return MemoryCheck(plan, entry, stage).run(arenaEnd);
}

} // namespace tandem

#include "runtime/exec/Lifetimes.h"

#include "runtime/plan/Places.h"
#include "runtime/plan/RangeMap.h"
#include "runtime/plan/StreamOrder.h"

namespace tandem {
namespace {

/// What a step does with bytes of the arena.
struct Touch {
  Place place;
  bool writes;
};

/// Who touched bytes since they were written, that included.
struct Users {
  std::vector<Access> accesses;
};

class Lifetimes {
public:
  Lifetimes(const Plan &plan, const fb::Entry &entry, uint32_t stage)
      : entry(entry), stage(stage), program(*entry.programs()->Get(stage)),
        sequence(plan, entry, stage), order(program), dead(sequence.size()) {}

  std::vector<std::vector<ByteRange>> run() {
    keepOutputs();
    takeInputs();
    for (uint32_t position = sequence.size(); position-- > 0;)
      findUnwanted(sequence.at(position));
    for (uint32_t position = 0; position < sequence.size(); ++position)
      dropUsed(sequence.at(position));
    return std::move(dead);
  }

private:
  void keepOutputs() {
    for (const fb::Port *port : *entry.outputs()) {
      uint32_t v = port->values()->Get(stage);
      if (v == kNone)
        continue;
      Place place = placeOf(program, *program.values()->Get(v), 0, 0);
      if (place.region == fb::Region::Arena)
        wanted.set(place.begin, place.end(), true);
    }
  }

  void takeInputs() {
    for (const fb::Port *port : *entry.inputs()) {
      uint32_t v = port->values()->Get(stage);
      if (v == kNone)
        continue;
      Place place = placeOf(program, *program.values()->Get(v), 0, 0);
      if (place.region == fb::Region::Arena)
        users.set(place.begin, place.end(), Users());
    }
  }

  /// Inputs, then outputs and workspace.
  std::vector<Touch> touches(const Step &step) const {
    const fb::Instruction &it = step.instruction();
    std::vector<Touch> result;
    uint32_t count = uint32_t(it.inputs()) + it.outputs() + it.workspaces();
    for (uint32_t a = 0; a < count; ++a) {
      uint32_t v = program.args()->Get(it.first_arg() + a);
      Place place =
          placeOf(program, step.value(v), step.microbatch(), step.slot());
      if (place.region == fb::Region::Arena && place.bytes > 0)
        result.push_back({place, a >= it.inputs()});
    }
    return result;
  }

  /// Backwards: `wanted` is what steps behind this one read first.
  void findUnwanted(const Step &step) {
    std::vector<Touch> all = touches(step);
    std::vector<ByteRange> &found = dead[step.position()];
    for (const Touch &touch : all) {
      bool isWanted = false;
      wanted.each(touch.place.begin, touch.place.end(),
                  [&](uint64_t, uint64_t, bool &here) {
                    isWanted |= here;
                    return !isWanted;
                  });
      bool isKnown = false;
      for (const ByteRange &range : found)
        isKnown |= range.offset == touch.place.begin &&
                   range.bytes == touch.place.bytes;
      if (!isWanted && !isKnown)
        found.push_back({touch.place.begin, touch.place.bytes});
    }
    for (bool writes : {true, false})
      for (const Touch &touch : all)
        if (touch.writes == writes)
          wanted.set(touch.place.begin, touch.place.end(), !writes);
  }

  /// Forwards: drops what another stream may be at.
  void dropUsed(const Step &step) {
    order.advance(step);
    uint32_t stream = order.numberOf(step.instruction());
    for (const Touch &touch : touches(step))
      note(touch, {stream, step.position()});
    std::vector<ByteRange> &found = dead[step.position()];
    auto isUsed = [&](const ByteRange &range) {
      bool used = false;
      users.each(range.offset, range.offset + range.bytes,
                 [&](uint64_t, uint64_t, Users &here) {
                   for (const Access &access : here.accesses)
                     used |= !order.isBefore(access, stream);
                   return !used;
                 });
      return used;
    };
    found.erase(std::remove_if(found.begin(), found.end(), isUsed),
                found.end());
  }

  void note(const Touch &touch, Access access) {
    if (touch.writes) {
      users.set(touch.place.begin, touch.place.end(), {{access}});
      return;
    }
    users.each(touch.place.begin, touch.place.end(),
               [&](uint64_t, uint64_t, Users &here) {
                 for (Access &last : here.accesses)
                   if (last.stream == access.stream) {
                     last = access;
                     return true;
                   }
                 here.accesses.push_back(access);
                 return true;
               });
  }

  const fb::Entry &entry;
  uint32_t stage;
  const fb::Program &program;
  Sequence sequence;
  StreamOrder order;
  RangeMap<bool> wanted;
  RangeMap<Users> users;
  std::vector<std::vector<ByteRange>> dead;
};

} // namespace

std::vector<std::vector<ByteRange>>
deadAfter(const Plan &plan, const fb::Entry &entry, uint32_t stage) {
  return Lifetimes(plan, entry, stage).run();
}

} // namespace tandem

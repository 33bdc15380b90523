#include "runtime/plan/ScheduleCheck.h"
#include "runtime/plan/Walk.h"

#include <map>

namespace tandem {
namespace {

class ScheduleCheck {
public:
  ScheduleCheck(const Plan &plan, const fb::Entry &entry, uint32_t stage)
      : plan(plan), entry(entry), stage(stage),
        program(*entry.programs()->Get(stage)) {}

  Status run() {
    if (program.schedule()->size() == 0) {
      if (entry.microbatches() > 1)
        return bad("it has no schedule, its entry has " +
                   std::to_string(entry.microbatches()) + " microbatches");
      return walkInstructions(plan, entry, stage, [&](const Step &step) {
        return checkPlaces(step, kNone);
      });
    }
    TANDEM_TRY(checkRuns());
    for (uint32_t p = 0; p < program.pools()->size(); ++p)
      TANDEM_TRY(checkSlots(p));
    for (const fb::Action *action : *program.actions())
      for (uint32_t i = 0; i < action->count(); ++i)
        TANDEM_TRY(checkPlaces(Step(plan, entry, stage, action->first() + i),
                               action->pool()));
    return Status();
  }

private:
  Status bad(const std::string &why) const {
    return Status::refused("entry '" + entry.name()->str() + "', pp " +
                           std::to_string(stage) + ": " + why);
  }

  std::string nameOf(uint32_t action) const {
    return std::string("action '") +
           plan.string(program.actions()->Get(action)->name()) + "'";
  }

  /// What has no pool runs once, what has one once for each microbatch.
  Status checkRuns() const {
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> runs;
    for (const fb::ScheduleItem *item : *program.schedule())
      if (++runs[{item->action(), item->microbatch()}] > 1)
        return bad("its schedule runs " + nameOf(item->action()) +
                   " for microbatch " + std::to_string(item->microbatch()) +
                   " twice");
    for (uint32_t a = 0; a < program.actions()->size(); ++a) {
      bool isRepeated = program.actions()->Get(a)->pool() != kNone;
      for (uint32_t m = 0; m < (isRepeated ? entry.microbatches() : 1); ++m)
        if (!runs.count({a, m}))
          return bad("its schedule skips " + nameOf(a) + " for microbatch " +
                     std::to_string(m));
    }
    return Status();
  }

  /// A microbatch keeps its slot from its first action to its last.
  Status checkSlots(uint32_t pool) const {
    std::map<uint32_t, uint32_t> left, slots; // by microbatch
    uint32_t actions = 0;
    for (const fb::Action *action : *program.actions())
      actions += action->pool() == pool;
    if (actions == 0)
      return bad("no action uses pool " + std::to_string(pool));
    std::map<uint32_t, uint32_t> holders; // by slot
    for (const fb::ScheduleItem *item : *program.schedule()) {
      if (program.actions()->Get(item->action())->pool() != pool)
        continue;
      uint32_t m = item->microbatch();
      auto [mine, isFirst] = slots.try_emplace(m, item->slot());
      if (mine->second != item->slot())
        return bad(nameOf(item->action()) + " has slot " +
                   std::to_string(item->slot()) + " for microbatch " +
                   std::to_string(m) + ", an action before it slot " +
                   std::to_string(mine->second));
      auto holder = holders.find(item->slot());
      if (isFirst && holder != holders.end() && left[holder->second] > 0)
        return bad(nameOf(item->action()) + " takes slot " +
                   std::to_string(item->slot()) + " of pool " +
                   std::to_string(pool) + " for microbatch " +
                   std::to_string(m) + " while microbatch " +
                   std::to_string(holder->second) + " is still in flight");
      if (isFirst) {
        holders[item->slot()] = m;
        left[m] = actions;
      }
      --left[m];
    }
    uint32_t count = program.pools()->Get(pool)->count();
    if (holders.size() < count)
      return bad("pool " + std::to_string(pool) + " has " +
                 std::to_string(count) + " slots, its schedule uses " +
                 std::to_string(holders.size()));
    return Status();
  }

  /// Slots are those of the action's pool; only what runs for a microbatch
  /// has a slice.
  Status checkPlaces(const Step &step, uint32_t pool) const {
    uint32_t last = step.workspace() != kNone;
    for (uint32_t i = 0; i < step.inputs() + step.outputs() + last; ++i) {
      uint32_t v = program.args()->Get(step.instruction().first_arg() + i);
      const fb::Value &value = step.value(v);
      if (value.region() == fb::Region::Slot && value.index() != pool)
        return step.refused(
            "value " + std::to_string(v) + " lies in a slot of pool " +
            std::to_string(value.index()) + ", which its action does not have");
      if (value.region() == fb::Region::Microbatch && pool == kNone)
        return step.refused("value " + std::to_string(v) +
                            " is a microbatch's slice; its action runs for "
                            "none");
    }
    return Status();
  }

  const Plan &plan;
  const fb::Entry &entry;
  uint32_t stage;
  const fb::Program &program;
};

} // namespace

Status checkSchedule(const Plan &plan, const fb::Entry &entry) {
  for (uint32_t stage = 0; stage < plan.stages(); ++stage)
    TANDEM_TRY(ScheduleCheck(plan, entry, stage).run());
  return Status();
}

} // namespace tandem

#include "passes/pipeline/ActionOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace tandem {

std::string ActionKey::toString() const {
  static constexpr const char *names[] = {"forward", "backward", "weight"};
  return std::string(names[static_cast<int>(kind)]) + "." +
         std::to_string(stage);
}

namespace {

/// Hands out the slots of one pool.
class Slots {
public:
  int64_t take(int64_t microbatch) {
    auto [it, added] = slotOf.try_emplace(microbatch, 0);
    if (!added)
      return it->second;
    size_t slot = 0;
    while (slot < taken.size() && taken[slot])
      ++slot;
    taken.resize(std::max(taken.size(), slot + 1));
    taken[slot] = true;
    return it->second = static_cast<int64_t>(slot);
  }
  void release(int64_t microbatch) { taken[slotOf[microbatch]] = false; }

private:
  std::map<int64_t, int64_t> slotOf;
  std::vector<bool> taken;
};

} // namespace

std::vector<ScheduleItem> scheduleOf(const ActionList &order,
                                     const std::vector<ActionKey> &keys,
                                     const std::vector<int64_t> &pools) {
  std::vector<ScheduleItem> items = {{0, 0, 0}};
  for (const ScheduleAction &action : order) {
    auto at = llvm::find(keys, ActionKey{action.kind, action.stage});
    if (at != keys.end())
      items.push_back({at - keys.begin() + 1, action.microbatch, 0});
  }
  std::map<std::pair<int64_t, int64_t>, int64_t> left; // pool, microbatch
  for (const ScheduleItem &item : llvm::drop_begin(items))
    ++left[{pools[item.action], item.microbatch}];
  std::map<int64_t, Slots> slots; // by pool
  for (ScheduleItem &item : llvm::drop_begin(items)) {
    Slots &own = slots[pools[item.action]];
    item.slot = own.take(item.microbatch);
    if (--left[{pools[item.action], item.microbatch}] == 0)
      own.release(item.microbatch);
  }
  items.push_back({static_cast<int64_t>(keys.size()) + 1, 0, 0});
  return items;
}

} // namespace tandem

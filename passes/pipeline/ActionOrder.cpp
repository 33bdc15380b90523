#include "passes/pipeline/ActionOrder.h"

#include "llvm/ADT/STLExtras.h"

namespace tandem {

std::string ActionKey::toString() const {
  static constexpr const char *names[] = {"forward", "backward", "weight"};
  return std::string(names[static_cast<int>(kind)]) + "." +
         std::to_string(stage);
}

ActionOrder gpipeOrder(const StageMap &stages, int64_t coordinate,
                       int64_t microbatches) {
  std::vector<int64_t> own;
  for (int64_t stage = 0; stage < stages.stages(); ++stage)
    if (stages.coordinateOf[stage] == coordinate)
      own.push_back(stage);
  ActionOrder order;
  auto add = [&](ActionKind kind, int64_t stage) {
    for (int64_t i = 0; i < microbatches; ++i)
      order.push_back({{kind, stage}, i});
  };
  for (int64_t stage : own)
    add(ActionKind::Forward, stage);
  for (int64_t stage : llvm::reverse(own))
    add(ActionKind::Backward, stage);
  for (int64_t stage : llvm::reverse(own))
    add(ActionKind::Weight, stage);
  return order;
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

std::vector<ScheduleItem> scheduleOf(const ActionOrder &order,
                                     const std::vector<ActionKey> &keys,
                                     const std::vector<int64_t> &pools) {
  std::vector<ScheduleItem> items = {{0, 0, 0}};
  for (const OrderedAction &entry : order)
    for (size_t key = 0; key < keys.size(); ++key)
      if (keys[key] == entry.action)
        items.push_back({static_cast<int64_t>(key) + 1, entry.microbatch, 0});
  auto poolOf = [&](const ScheduleItem &item) {
    return pools[item.action - 1];
  };
  std::map<std::pair<int64_t, int64_t>, int64_t> left; // pool, microbatch
  for (size_t i = 1; i < items.size(); ++i)
    ++left[{poolOf(items[i]), items[i].microbatch}];
  std::map<int64_t, Slots> slots; // by pool
  for (size_t i = 1; i < items.size(); ++i) {
    ScheduleItem &item = items[i];
    Slots &own = slots[poolOf(item)];
    item.slot = own.take(item.microbatch);
    if (--left[{poolOf(item), item.microbatch}] == 0)
      own.release(item.microbatch);
  }
  items.push_back({static_cast<int64_t>(keys.size()) + 1, 0, 0});
  return items;
}

} // namespace tandem

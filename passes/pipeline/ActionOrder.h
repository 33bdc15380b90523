//===- ActionOrder.h - What a coordinate does when --------------*- C++ -*-===//
//
// The order in which one `pp` coordinate takes the forward, backward and
// weight parts of its stages, for which microbatch:
//
//   GPipe on the last of 2 stages, 2 microbatches
//     forward 0, forward 1, backward 0, backward 1
//
// Slots follow: a microbatch holds one from its first action of a pool to its
// last, the lowest that is free.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PIPELINE_ACTIONORDER_H
#define TANDEM_PASSES_PIPELINE_ACTIONORDER_H

#include "ir/Actions.h"
#include "passes/pipeline/StagePlacement.h"

namespace tandem {

struct ActionKey {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0;

  bool operator<(const ActionKey &other) const {
    return std::tie(kind, stage) < std::tie(other.kind, other.stage);
  }
  bool operator==(const ActionKey &other) const {
    return kind == other.kind && stage == other.stage;
  }
  /// `backward.3`
  std::string toString() const;
};

struct OrderedAction {
  ActionKey action;
  int64_t microbatch = 0;
};

using ActionOrder = std::vector<OrderedAction>;

/// All forward passes, then all backward passes, of one coordinate.
ActionOrder gpipeOrder(const StageMap &stages, int64_t coordinate,
                       int64_t microbatches);

/// The schedule of a function whose actions are `keys` in this order, behind
/// action 0 and in front of one more. `pools`: of each key, by number.
std::vector<ScheduleItem> scheduleOf(const ActionOrder &order,
                                     const std::vector<ActionKey> &keys,
                                     const std::vector<int64_t> &pools);

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINE_ACTIONORDER_H

//===- ActionOrder.h - What a coordinate does when --------------*- C++ -*-===//
//
// A coordinate's actions of a schedule, as attributes of its function. A
// microbatch holds a slot from its first action of a pool to its last, the
// lowest that is free; stages whose values go from one to the other without
// being sent have one pool.
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

/// The schedule of a function whose body has the actions `keys`, numbered from
/// 1, between action 0 and one more; others of `order` are left out. `pools`:
/// of each number.
std::vector<ScheduleItem> scheduleOf(const ActionList &order,
                                     const std::vector<ActionKey> &keys,
                                     const std::vector<int64_t> &pools);

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINE_ACTIONORDER_H

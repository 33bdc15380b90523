//===- PipelineSchedule.h - Who runs what in which order --------*- C++ -*-===//
//
// What it is: the order in which each coordinate of the `pp` axis runs its
// actions. A model is cut into stages; `coordinateOf` says which coordinate
// holds which. For each microbatch a stage has one forward and one backward
// action, or, where backward is split, one that gives the input's gradient
// (backward) and one that gives the weights' (weight).
//
//   2 stages on 2 coordinates, 3 microbatches, the schedule 1f1b:
//   0: F0 F1 B0 F2 B1 B2
//   1: F0 B0 F1 B1 F2 B2
//
// What one does with it: `makeSchedule` (NamedSchedules.h) gives a known one,
// `parseSchedule` (ScheduleText.h) reads such a table, `simulate`
// (ScheduleTimeline.h) says how long it takes and where it idles.
//
// Invariants, which `verify` holds: a forward needs the forward of the stage
// before, a backward its own forward and the backward of the stage behind, a
// weight action its backward; each is there once; the coordinates' orders and
// these needs are no cycle; what a coordinate's forward actions send to
// another is needed in that order, and what its backward actions send, for by
// their order they are matched.
//
// Slots: what forward keeps for backward lies in a slot of its stage from the
// forward action to the last of the same microbatch. `assignSlots` gives each
// the lowest free one, which needs no more than are in flight at once; no
// assignment can do with fewer.
//
// Times are in any unit. An order does not depend on them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_PIPELINESCHEDULE_H
#define TANDEM_PASSES_STRATEGY_PIPELINESCHEDULE_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

enum class ActionKind { Forward, Backward, Weight };

/// The most microbatches of all stages together that a schedule may have.
constexpr int64_t kMostScheduled = int64_t(1) << 24;

/// Their number, for loops over kinds.
constexpr int kActionKinds = 3;

/// `F`, `B` or `W`.
char letterOf(ActionKind kind);

struct ScheduleAction {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0;
  int64_t microbatch = 0;
  int64_t slot = 0; ///< Of its stage's slots.
};

/// How long a stage takes for one microbatch.
struct StageTimes {
  double forward = 1;
  double backward = 1; ///< The input's gradient.
  double weight = 1;   ///< The weights' gradients.
};

struct ScheduleProblem {
  int64_t coordinates = 1;
  int64_t microbatches = 1;
  /// Of each stage, the coordinate that holds it.
  std::vector<int64_t> coordinateOf;
  /// Whether backward is two actions. If not it takes the time of both.
  bool split = false;
  /// Of each stage; none: all times are 1.
  std::vector<StageTimes> times;
  /// Between two coordinates, from the end of an action to what needs it.
  double transfer = 0;
  /// The most slots that the stages of a coordinate may have together; 0:
  /// any number.
  int64_t slotLimit = 0;

  int64_t stages() const { return static_cast<int64_t>(coordinateOf.size()); }
  int64_t lastStage() const { return stages() - 1; }
  /// The action that ends a microbatch's use of its slot.
  ActionKind lastKind() const {
    return split ? ActionKind::Weight : ActionKind::Backward;
  }
  double timeOf(ActionKind kind, int64_t stage) const;
  /// Actions of all coordinates.
  int64_t numActions() const;
  /// A number below `numActions()`, each action's own.
  int64_t indexOf(const ScheduleAction &action) const;
  /// What must end before `action` begins, at most two actions.
  std::vector<ScheduleAction> needsOf(const ScheduleAction &action) const;
  /// `F3`; `F3.5`, with its stage, where stages are not the coordinates.
  std::string nameOf(const ScheduleAction &action) const;
  /// Whether stage s lies on coordinate s, for all.
  bool oneStageEach() const;

  /// Refuses no coordinates, stages or microbatches or more than
  /// `kMostScheduled` of both, coordinates out of range or without a stage, and
  /// times that are negative or not finite.
  Status check() const;
};

using ActionList = std::vector<ScheduleAction>;

struct Schedule {
  std::vector<ActionList> actions; ///< Of each coordinate, in order.
  std::vector<int64_t> slots;      ///< Of each stage, how many.

  /// Whether it solves `problem`; if not, what is wrong with which action.
  Status verify(const ScheduleProblem &problem) const;
};

/// What is wrong with a schedule and where.
struct ScheduleFault {
  std::string message; ///< Empty: nothing.
  int64_t coordinate = -1;
  /// Its place among the coordinate's actions, -1 where it is not one's.
  int64_t place = -1;
};

/// The first fault of a schedule of a problem that its `check` accepts.
ScheduleFault findFault(const ScheduleProblem &problem,
                        const Schedule &schedule);

/// Gives each action its slot and each stage as many as are needed. Leaves
/// `verify` to say whether the order is one.
Schedule assignSlots(const ScheduleProblem &problem,
                     std::vector<ActionList> actions);

/// Of each coordinate, the most microbatches in flight at once, its stages
/// counted apart: forward begun and last action not ended.
std::vector<int64_t> mostInFlight(const ScheduleProblem &problem,
                                  const Schedule &schedule);

/// A schedule and what it solves.
struct PipelineSchedule {
  ScheduleProblem problem;
  Schedule schedule;
};

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_PIPELINESCHEDULE_H

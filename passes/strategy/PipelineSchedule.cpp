#include "passes/strategy/PipelineSchedule.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

Status wrong(const std::string &message) {
  return Status::refused("schedule: " + message);
}

Status checkTimes(const ScheduleProblem &problem) {
  if (!problem.times.empty() &&
      problem.times.size() != problem.coordinateOf.size())
    return wrong("times of " + std::to_string(problem.times.size()) +
                 " stages, expected of " + std::to_string(problem.stages()));
  std::vector<double> all{problem.transfer};
  for (const StageTimes &times : problem.times)
    all.insert(all.end(), {times.forward, times.backward, times.weight});
  for (double time : all)
    if (!(time >= 0) || std::isinf(time))
      return wrong("an action or transfer takes " + std::to_string(time) +
                   ", expected a finite time of at least 0");
  return Status();
}

} // namespace

char letterOf(ActionKind kind) { return "FBW"[static_cast<int>(kind)]; }

double ScheduleProblem::timeOf(ActionKind kind, int64_t stage) const {
  StageTimes t = times.empty() ? StageTimes() : times[stage];
  switch (kind) {
  case ActionKind::Forward:
    return t.forward;
  case ActionKind::Backward:
    return split ? t.backward : t.backward + t.weight;
  case ActionKind::Weight:
    return t.weight;
  }
  return 0;
}

int64_t ScheduleProblem::numActions() const {
  return kActionKinds * stages() * microbatches;
}

int64_t ScheduleProblem::indexOf(const ScheduleAction &action) const {
  return (static_cast<int64_t>(action.kind) * stages() + action.stage) *
             microbatches +
         action.microbatch;
}

std::vector<ScheduleAction>
ScheduleProblem::needsOf(const ScheduleAction &action) const {
  std::vector<ScheduleAction> needs;
  auto need = [&](ActionKind kind, int64_t stage) {
    needs.push_back({kind, stage, action.microbatch, 0});
  };
  switch (action.kind) {
  case ActionKind::Forward:
    if (action.stage > 0)
      need(ActionKind::Forward, action.stage - 1);
    break;
  case ActionKind::Backward:
    need(ActionKind::Forward, action.stage);
    if (action.stage < lastStage())
      need(ActionKind::Backward, action.stage + 1);
    break;
  case ActionKind::Weight:
    need(ActionKind::Backward, action.stage);
    break;
  }
  return needs;
}

bool ScheduleProblem::oneStageEach() const {
  for (int64_t stage = 0; stage < stages(); ++stage)
    if (coordinateOf[stage] != stage)
      return false;
  return true;
}

std::string ScheduleProblem::nameOf(const ScheduleAction &action) const {
  std::string name = letterOf(action.kind) + std::to_string(action.microbatch);
  return oneStageEach() ? name : name + "." + std::to_string(action.stage);
}

Status ScheduleProblem::check() const {
  if (coordinates < 1 || microbatches < 1)
    return wrong(std::to_string(coordinates) + " coordinates and " +
                 std::to_string(microbatches) +
                 " microbatches, expected at least 1 of each");
  if (stages() > kMostScheduled / microbatches)
    return wrong(std::to_string(stages()) + " stages and " +
                 std::to_string(microbatches) +
                 " microbatches, expected at most " +
                 std::to_string(kMostScheduled) + " multiplied");
  std::vector<bool> holds(coordinates, false);
  for (int64_t stage = 0; stage < stages(); ++stage) {
    int64_t coordinate = coordinateOf[stage];
    if (coordinate < 0 || coordinate >= coordinates)
      return wrong("stage " + std::to_string(stage) + " lies on coordinate " +
                   std::to_string(coordinate) + " of " +
                   std::to_string(coordinates));
    holds[coordinate] = true;
  }
  for (int64_t c = 0; c < coordinates; ++c)
    if (!holds[c])
      return wrong("coordinate " + std::to_string(c) + " holds no stage");
  if (slotLimit < 0)
    return wrong("a limit of " + std::to_string(slotLimit) +
                 " slots, expected at least 0");
  return checkTimes(*this);
}

Status Schedule::verify(const ScheduleProblem &problem) const {
  TANDEM_TRY(problem.check());
  ScheduleFault fault = findFault(problem, *this);
  if (fault.message.empty())
    return Status();
  if (fault.coordinate < 0)
    return wrong(fault.message);
  return wrong("coordinate " + std::to_string(fault.coordinate) + ": " +
               fault.message);
}

Schedule assignSlots(const ScheduleProblem &problem,
                     std::vector<ActionList> actions) {
  Schedule schedule;
  schedule.slots.assign(problem.stages(), 0);
  std::vector<std::vector<bool>> taken(problem.stages());
  std::vector<int64_t> slotOf(problem.stages() * problem.microbatches, 0);
  for (ActionList &list : actions)
    for (ScheduleAction &action : list) {
      std::vector<bool> &slots = taken[action.stage];
      int64_t &slot =
          slotOf[action.stage * problem.microbatches + action.microbatch];
      if (action.kind == ActionKind::Forward) {
        slot = std::find(slots.begin(), slots.end(), false) - slots.begin();
        if (slot == static_cast<int64_t>(slots.size()))
          slots.push_back(false);
        slots[slot] = true;
      } else if (action.kind == problem.lastKind() && !slots.empty()) {
        slots[slot] = false;
      }
      action.slot = slot;
    }
  for (int64_t stage = 0; stage < problem.stages(); ++stage)
    schedule.slots[stage] = static_cast<int64_t>(taken[stage].size());
  schedule.actions = std::move(actions);
  return schedule;
}

std::vector<int64_t> mostInFlight(const ScheduleProblem &problem,
                                  const Schedule &schedule) {
  std::vector<int64_t> most;
  for (const ActionList &list : schedule.actions) {
    int64_t now = 0, peak = 0;
    for (const ScheduleAction &action : list) {
      now += action.kind == ActionKind::Forward;
      peak = std::max(peak, now);
      now -= action.kind == problem.lastKind();
    }
    most.push_back(peak);
  }
  return most;
}

} // namespace tandem

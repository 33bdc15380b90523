#include "tools/commands/PlanBubble.h"

#include "passes/strategy/ClosedForms.h"
#include "passes/strategy/ScheduleTimeline.h"

#include <algorithm>
#include <cstdlib>

namespace tandem {
namespace {

/// `backward.3`, of a stage; nothing of prologue and epilogue.
std::optional<ScheduleAction> actionOf(const std::string &name) {
  static const std::pair<const char *, ActionKind> kinds[] = {
      {"forward.", ActionKind::Forward},
      {"backward.", ActionKind::Backward},
      {"weight.", ActionKind::Weight}};
  for (auto [prefix, kind] : kinds)
    if (name.rfind(prefix, 0) == 0) {
      ScheduleAction action;
      action.kind = kind;
      action.stage =
          std::strtoll(name.c_str() + std::string(prefix).size(), nullptr, 10);
      return action;
    }
  return std::nullopt;
}

ActionList actionsOf(const Plan &plan, const fb::Program &program) {
  ActionList list;
  for (const fb::ScheduleItem *item : *program.schedule()) {
    uint32_t name = program.actions()->Get(item->action())->name();
    if (std::optional<ScheduleAction> action = actionOf(plan.string(name))) {
      action->microbatch = item->microbatch();
      list.push_back(*action);
    }
  }
  return list;
}

void setTimes(ScheduleProblem &problem) {
  problem.times.clear();
  for (int64_t holder : problem.coordinateOf) {
    auto stages = static_cast<double>(std::count(
        problem.coordinateOf.begin(), problem.coordinateOf.end(), holder));
    problem.times.push_back({1 / stages, 1 / stages, 1 / stages});
  }
}

bool sameOrder(const std::vector<ActionList> &a,
               const std::vector<ActionList> &b) {
  auto same = [](const ScheduleAction &x, const ScheduleAction &y) {
    return x.kind == y.kind && x.stage == y.stage &&
           x.microbatch == y.microbatch;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const ActionList &x, const ActionList &y) {
                      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                                        same);
                    });
}

/// Fills in what is known of the schedule that orders actions as `given`.
void addKnown(const PipelineSchedule &given, BubbleFigures &figures) {
  const ScheduleProblem &problem = given.problem;
  ScheduleRequest request;
  request.coordinates = problem.coordinates;
  request.microbatches = problem.microbatches;
  request.virtualStages = problem.stages() / problem.coordinates;
  for (const std::string &name : scheduleNames()) {
    request.name = name;
    Result<PipelineSchedule> known = makeSchedule(request);
    if (!known.ok() || known->problem.coordinateOf != problem.coordinateOf ||
        !sameOrder(known->schedule.actions, given.schedule.actions))
      continue;
    figures.schedule = name;
    Result<ClosedForm> form = closedFormOf(request, problem.times[0]);
    if (!form.ok())
      return;
    figures.closedForm =
        form->bubble({problem.coordinates, request.virtualStages,
                      problem.microbatches, problem.times[0]});
    figures.formula = form->idleFormula;
    return;
  }
}

} // namespace

std::optional<PipelineSchedule> scheduleOf(const Plan &plan,
                                           const fb::Entry &entry) {
  ScheduleProblem problem;
  problem.coordinates = plan.stages();
  problem.microbatches = entry.microbatches();
  std::vector<ActionList> actions;
  for (const fb::Program *program : *entry.programs()) {
    actions.push_back(actionsOf(plan, *program));
    for (const ScheduleAction &action : actions.back()) {
      if (action.stage < 0 || action.stage > plan.stages() * 1024)
        return std::nullopt;
      size_t stage = static_cast<size_t>(action.stage);
      problem.coordinateOf.resize(
          std::max(problem.coordinateOf.size(), stage + 1), 0);
      problem.coordinateOf[stage] = static_cast<int64_t>(actions.size()) - 1;
      problem.split |= action.kind == ActionKind::Weight;
    }
  }
  if (problem.coordinateOf.empty())
    return std::nullopt;
  setTimes(problem);
  if (!problem.check().ok())
    return std::nullopt;
  Schedule schedule = assignSlots(problem, std::move(actions));
  if (!schedule.verify(problem).ok())
    return std::nullopt;
  return PipelineSchedule{std::move(problem), std::move(schedule)};
}

std::optional<BubbleFigures> bubbleOf(const Plan &plan,
                                      const fb::Entry &entry) {
  std::optional<PipelineSchedule> given = scheduleOf(plan, entry);
  if (!given)
    return std::nullopt;
  BubbleFigures figures;
  figures.counted = simulate(given->problem, given->schedule).bubble();
  addKnown(*given, figures);
  return figures;
}

} // namespace tandem

#include "passes/strategy/NamedSchedules.h"

#include "passes/strategy/ClosedForms.h"
#include "passes/strategy/WeightPlacement.h"
#include "runtime/base/Suggest.h"

#include <algorithm>

namespace tandem {
namespace {

/// Forward and backward actions of one coordinate, written down as if there
/// were no end of microbatches; those beyond the last are left out.
class OrderWriter {
public:
  OrderWriter(int64_t stages, int64_t microbatches)
      : microbatches(microbatches), nextForward(stages, 0),
        nextBackward(stages, 0) {}

  void forward(int64_t stage, int64_t count = 1) {
    for (; count > 0; --count)
      add({ActionKind::Forward, stage, nextForward[stage]++, 0});
  }
  void backward(int64_t stage, int64_t count = 1) {
    for (; count > 0; --count)
      add({ActionKind::Backward, stage, nextBackward[stage]++, 0});
  }
  /// Whether all backward actions of `stage` are written.
  bool ended(int64_t stage) const {
    return nextBackward[stage] >= microbatches;
  }
  ActionList take() { return std::move(list); }

private:
  void add(const ScheduleAction &action) {
    if (action.microbatch < microbatches)
      list.push_back(action);
  }

  int64_t microbatches;
  std::vector<int64_t> nextForward, nextBackward;
  ActionList list;
};

/// A schedule's order on one coordinate, weight actions apart.
using Order = ActionList (*)(const ScheduleProblem &, int64_t coordinate);

ActionList gpipeOrder(const ScheduleProblem &problem, int64_t c) {
  OrderWriter order(problem.stages(), problem.microbatches);
  order.forward(c, problem.microbatches);
  order.backward(c, problem.microbatches);
  return order.take();
}

ActionList oneForwardOneBackward(const ScheduleProblem &problem, int64_t c) {
  OrderWriter order(problem.stages(), problem.microbatches);
  for (order.forward(c, problem.coordinates - c); !order.ended(c);
       order.forward(c))
    order.backward(c);
  return order.take();
}

/// Groups pass all stages of the coordinate one after another, backward from
/// the last; forwards run ahead by what the first backward has to wait for.
ActionList interleavedOrder(const ScheduleProblem &problem, int64_t c) {
  int64_t p = problem.coordinates, v = problem.stages() / p;
  std::vector<int64_t> groups = interleavedGroups(p, problem.microbatches);
  ActionList forwards, backwards;
  int64_t first = 0;
  for (int64_t group : groups) {
    for (int64_t chunk = 0; chunk < v; ++chunk)
      for (int64_t m = first; m < first + group; ++m) {
        forwards.push_back({ActionKind::Forward, chunk * p + c, m, 0});
        backwards.push_back(
            {ActionKind::Backward, (v - 1 - chunk) * p + c, m, 0});
      }
    first += group;
  }
  auto ahead = static_cast<size_t>(2 * (p - 1 - c) + (v - 1) * groups[0] + 1);
  auto next = forwards.begin() + std::min(ahead, forwards.size());
  ActionList list(forwards.begin(), next);
  for (const ScheduleAction &backward : backwards) {
    list.push_back(backward);
    if (next != forwards.end())
      list.push_back(*next++);
  }
  return list;
}

/// Microbatches go forth over the coordinates and come back; the last stage
/// lies with the first, where its backward begins at once. Forwards of the way
/// forth fill the time until the first microbatch is back, and then all four
/// kinds take turns.
ActionList waveOrder(const ScheduleProblem &problem, int64_t c) {
  int64_t p = problem.coordinates, forth = c, back = 2 * p - 1 - c;
  OrderWriter order(problem.stages(), problem.microbatches);
  order.forward(forth, 2 * (p - c) - 1);
  for (int64_t i = 0; i < c; ++i) {
    order.forward(back);
    order.forward(forth);
  }
  for (int64_t i = c; i < p; ++i) {
    order.forward(back);
    order.backward(back);
  }
  while (!order.ended(forth)) {
    order.backward(forth);
    order.forward(forth);
    order.forward(back);
    order.backward(back);
  }
  return order.take();
}

struct NamedSchedule {
  const char *name;
  Order order;
  bool split;
  bool wave; ///< Stages go forth and back over the coordinates.
  int64_t fewestStages, mostStages; ///< A coordinate's.
  std::optional<double> (*idle)(const UniformPipeline &);
  const char *idleFormula;
  int64_t (*inFlight)(const UniformPipeline &, int64_t coordinate);
  const char *inFlightFormula;
};

constexpr int64_t kMany = 1 << 20;
constexpr NamedSchedule kSchedules[] = {
    {"gpipe", gpipeOrder, false, false, 1, 1, flushIdle, "(p-1)(F+B+W)",
     allInFlight, "m"},
    {"1f1b", oneForwardOneBackward, false, false, 1, 1, flushIdle,
     "(p-1)(F+B+W)", warmInFlight, "min(m, p-c)"},
    {"interleaved", interleavedOrder, false, false, 2, kMany, interleavedIdle,
     "(p-1 + (v-1) max(0, p-m))(F+B+W)", interleavedInFlight,
     "min(v m, (v-1)g + 2(p-1-c) + 1)"},
    {"zb-h1", oneForwardOneBackward, true, false, 1, 1, zeroBubbleIdle,
     "(p-1)(F+B) - (min(m, p)-1)W", fullInFlight, "min(m, p)"},
    {"zb-v", waveOrder, true, true, 2, 2, waveIdle,
     "max(p-1, 3p-1-2m, 4p-1-4m) F", fullInFlight, "2 min(m, p)"},
};

Result<const NamedSchedule *> findSchedule(const std::string &name) {
  std::string known;
  for (const NamedSchedule &schedule : kSchedules) {
    if (name == schedule.name)
      return &schedule;
    known += (known.empty() ? "" : ", ") + std::string(schedule.name);
  }
  return Status::refused("unknown schedule '" + name + "'; known are: " +
                         known + didYouMean(name, scheduleNames()));
}

Result<int64_t> stagesOf(const NamedSchedule &named, int64_t wanted) {
  if (wanted == 0)
    return named.fewestStages;
  if (wanted >= named.fewestStages && wanted <= named.mostStages)
    return wanted;
  std::string text = "schedule " + std::string(named.name) + " has ";
  if (named.mostStages == kMany)
    text += "at least ";
  text += std::to_string(named.fewestStages) +
          " virtual stages a coordinate, "
          "got " +
          std::to_string(wanted);
  if (wanted == 1)
    return Status::refused(text + "; 1f1b has 1");
  return Status::refused(text + "; interleaved takes any number from 2");
}

ScheduleProblem problemOf(const NamedSchedule &named, int64_t coordinates,
                          int64_t perCoordinate, int64_t microbatches) {
  ScheduleProblem problem;
  problem.coordinates = coordinates;
  problem.microbatches = microbatches;
  problem.split = named.split;
  for (int64_t stage = 0; stage < coordinates * perCoordinate; ++stage) {
    int64_t c = stage % coordinates;
    bool turned = named.wave && stage >= coordinates;
    problem.coordinateOf.push_back(turned ? coordinates - 1 - c : c);
  }
  // What 1f1b has in flight on its first coordinate.
  if (named.split)
    problem.slotLimit = perCoordinate * coordinates;
  return problem;
}

} // namespace

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const NamedSchedule &schedule : kSchedules)
    names.push_back(schedule.name);
  return names;
}

std::vector<int64_t> interleavedGroups(int64_t coordinates,
                                       int64_t microbatches) {
  int64_t count = std::max<int64_t>(1, microbatches / coordinates);
  std::vector<int64_t> groups(count, microbatches / count);
  for (int64_t i = 0; i < microbatches % count; ++i)
    ++groups[i];
  return groups;
}

Result<PipelineSchedule> makeSchedule(const ScheduleRequest &request) {
  TANDEM_ASSIGN(const NamedSchedule *named, findSchedule(request.name));
  TANDEM_ASSIGN(int64_t stages, stagesOf(*named, request.virtualStages));
  if (request.coordinates < 1 || request.microbatches < 1)
    return Status::refused("schedule " + request.name + ": " +
                           std::to_string(request.coordinates) +
                           " stages and " +
                           std::to_string(request.microbatches) +
                           " microbatches, expected at least 1 of each");
  if (request.microbatches > kMostScheduled ||
      request.coordinates > kMostScheduled / stages / request.microbatches)
    return Status::refused("schedule " + request.name + ": expected at most " +
                           std::to_string(kMostScheduled) +
                           " microbatches of all stages together");
  PipelineSchedule made;
  made.problem =
      problemOf(*named, request.coordinates, stages, request.microbatches);
  std::vector<ActionList> lists;
  for (int64_t c = 0; c < request.coordinates; ++c)
    lists.push_back(named->order(made.problem, c));
  if (named->split)
    lists = placeWeights(made.problem, lists);
  made.schedule = assignSlots(made.problem, std::move(lists));
  TANDEM_TRY(made.schedule.verify(made.problem));
  return made;
}

Result<ClosedForm> closedFormOf(const ScheduleRequest &request,
                                const StageTimes &times) {
  TANDEM_ASSIGN(const NamedSchedule *named, findSchedule(request.name));
  UniformPipeline pipeline{request.coordinates, 1, request.microbatches, times};
  TANDEM_ASSIGN(pipeline.virtualStages,
                stagesOf(*named, request.virtualStages));
  ClosedForm form;
  form.idle = named->idle(pipeline);
  form.idleFormula = named->idleFormula;
  for (int64_t c = 0; c < request.coordinates; ++c)
    form.inFlight.push_back(named->inFlight(pipeline, c));
  form.inFlightFormula = named->inFlightFormula;
  return form;
}

} // namespace tandem

#include "passes/strategy/ScheduleTimeline.h"

#include <algorithm>
#include <limits>

namespace tandem {
namespace {

/// When what `action` needs is there; negative while it is not known.
double readyAt(const ScheduleProblem &problem, const std::vector<double> &end,
               const ScheduleAction &action) {
  double ready = 0;
  for (const ScheduleAction &need : problem.needsOf(action)) {
    double ended = end[problem.indexOf(need)];
    if (ended < 0)
      return -1;
    bool crosses =
        problem.coordinateOf[need.stage] != problem.coordinateOf[action.stage];
    ready = std::max(ready, ended + (crosses ? problem.transfer : 0));
  }
  return ready;
}

/// The time from a step's start to a stage's first forward at the earliest.
std::vector<double> headsOf(const ScheduleProblem &problem) {
  std::vector<double> heads(problem.stages(), 0);
  for (int64_t s = 1; s < problem.stages(); ++s)
    heads[s] = heads[s - 1] + problem.timeOf(ActionKind::Forward, s - 1) +
               (problem.coordinateOf[s] == problem.coordinateOf[s - 1]
                    ? 0
                    : problem.transfer);
  return heads;
}

/// The time from the end of a stage's backward to the step's end at the least.
std::vector<double> tailsOf(const ScheduleProblem &problem) {
  std::vector<double> tails(problem.stages(), 0);
  double weight = problem.split ? problem.timeOf(ActionKind::Weight, 0) : 0;
  tails[0] = weight;
  for (int64_t s = 1; s < problem.stages(); ++s)
    tails[s] = tails[s - 1] + problem.timeOf(ActionKind::Backward, s - 1) +
               (problem.coordinateOf[s] == problem.coordinateOf[s - 1]
                    ? 0
                    : problem.transfer);
  return tails;
}

/// One microbatch there and back, and each coordinate's work between the
/// earliest that it can begin and the least that comes behind its end.
double boundOf(const ScheduleProblem &problem) {
  std::vector<double> heads = headsOf(problem), tails = tailsOf(problem);
  int64_t last = problem.lastStage();
  double bound = heads[last] + problem.timeOf(ActionKind::Forward, last) +
                 problem.timeOf(ActionKind::Backward, last) + tails[last];
  for (int64_t c = 0; c < problem.coordinates; ++c) {
    double head = std::numeric_limits<double>::infinity(), tail = head;
    double work = 0;
    for (int64_t s = 0; s < problem.stages(); ++s) {
      if (problem.coordinateOf[s] != c)
        continue;
      head = std::min(head, heads[s]);
      // A weight action may come last, and nothing needs it.
      tail = problem.split ? 0 : std::min(tail, tails[s]);
      for (int k = 0; k <= static_cast<int>(problem.lastKind()); ++k)
        work += problem.timeOf(static_cast<ActionKind>(k), s);
    }
    bound = std::max(bound, head + work * problem.microbatches + tail);
  }
  return bound;
}

} // namespace

double Timeline::idleWithin(int64_t coordinate) const {
  const std::vector<TimedAction> &list = actions[coordinate];
  if (list.empty())
    return 0;
  return list.back().end - list.front().start - busy[coordinate];
}

double Timeline::bubble() const {
  double all = makespan * static_cast<double>(busy.size()), work = 0;
  for (double time : busy)
    work += time;
  return all > 0 ? 1 - work / all : 0;
}

Timeline simulate(const ScheduleProblem &problem, const Schedule &schedule) {
  Timeline timeline;
  timeline.actions.resize(problem.coordinates);
  timeline.busy.assign(problem.coordinates, 0);
  std::vector<double> end(problem.numActions(), -1);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t c = 0; c < problem.coordinates; ++c) {
      std::vector<TimedAction> &times = timeline.actions[c];
      const ActionList &list = schedule.actions[c];
      while (times.size() < list.size()) {
        const ScheduleAction &action = list[times.size()];
        double ready = readyAt(problem, end, action);
        if (ready < 0)
          break;
        double start = std::max(ready, times.empty() ? 0 : times.back().end);
        double time = problem.timeOf(action.kind, action.stage);
        end[problem.indexOf(action)] = start + time;
        times.push_back({start, start + time});
        timeline.busy[c] += time;
        timeline.makespan = std::max(timeline.makespan, start + time);
        moved = true;
      }
    }
  }
  timeline.lowerBound = boundOf(problem);
  return timeline;
}

} // namespace tandem

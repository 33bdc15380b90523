#include "passes/strategy/MessageOrder.h"

#include <map>

namespace tandem {
namespace {

/// Of each action, by its index, its place among its coordinate's.
std::vector<int64_t> placesOf(const ScheduleProblem &problem,
                              const std::vector<ActionList> &lists) {
  std::vector<int64_t> places(problem.numActions(), -1);
  for (const ActionList &list : lists)
    for (size_t i = 0; i < list.size(); ++i)
      places[problem.indexOf(list[i])] = static_cast<int64_t>(i);
  return places;
}

/// What a receiver has taken last.
struct Taken {
  int64_t sent = -1, needed = -1;
};

} // namespace

std::optional<Overtaking> findOvertaking(const ScheduleProblem &problem,
                                         const std::vector<ActionList> &lists) {
  std::vector<int64_t> places = placesOf(problem, lists);
  for (int64_t c = 0; c < problem.coordinates; ++c) {
    std::map<std::pair<int64_t, ActionKind>, Taken> taken;
    for (size_t i = 0; i < lists[c].size(); ++i)
      for (const ScheduleAction &need : problem.needsOf(lists[c][i])) {
        int64_t sender = problem.coordinateOf[need.stage];
        if (sender == c)
          continue;
        Taken now{places[problem.indexOf(need)], static_cast<int64_t>(i)};
        Taken &last = taken[{sender, need.kind}];
        if (now.sent < last.sent)
          return Overtaking{sender, now.sent,    last.sent,
                            c,      last.needed, now.needed};
        last = now;
      }
  }
  return std::nullopt;
}

} // namespace tandem

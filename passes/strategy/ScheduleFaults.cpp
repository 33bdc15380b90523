#include "passes/strategy/MessageOrder.h"

#include <map>

namespace tandem {
namespace {

struct Place {
  int64_t coordinate = -1, place = -1;
};

/// Looks for faults, one kind after another; each search relies on what those
/// before it found in order.
class FaultSearch {
public:
  FaultSearch(const ScheduleProblem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule) {}

  ScheduleFault find() {
    if (!searchSizes() || !searchActions() || !searchMissing() ||
        !searchSlots() || !searchLimit() || !searchCycles())
      return fault;
    searchMessages();
    return fault;
  }

private:
  bool fail(const std::string &message, Place at = {}) {
    fault = {message, at.coordinate, at.place};
    return false;
  }

  /// Calls `visit(action, place)` for each action until it is false.
  template <typename Visit> bool each(const Visit &visit) {
    for (int64_t c = 0; c < problem.coordinates; ++c)
      for (size_t i = 0; i < schedule.actions[c].size(); ++i)
        if (!visit(schedule.actions[c][i], Place{c, static_cast<int64_t>(i)}))
          return false;
    return true;
  }

  bool searchSizes();
  bool searchActions();
  bool searchMissing();
  bool searchSlots();
  bool searchLimit();
  bool searchCycles();
  bool searchMessages();
  bool checkAction(const ScheduleAction &action, Place at);
  void advance(std::vector<int64_t> &next, std::vector<bool> &done);
  std::string describeCycle(const std::vector<int64_t> &next,
                            const std::vector<bool> &done, int64_t start);

  std::string nameOf(const ScheduleAction &action) const {
    return problem.nameOf(action);
  }

  const ScheduleProblem &problem;
  const Schedule &schedule;
  ScheduleFault fault;
  std::vector<Place> placeOf; ///< Of each action, by its index.
};

bool FaultSearch::searchSizes() {
  if (static_cast<int64_t>(schedule.actions.size()) != problem.coordinates)
    return fail("orders of " + std::to_string(schedule.actions.size()) +
                " coordinates, expected of " +
                std::to_string(problem.coordinates));
  if (static_cast<int64_t>(schedule.slots.size()) != problem.stages())
    return fail("slots of " + std::to_string(schedule.slots.size()) +
                " stages, expected of " + std::to_string(problem.stages()));
  return true;
}

bool FaultSearch::checkAction(const ScheduleAction &action, Place at) {
  if (action.stage < 0 || action.stage >= problem.stages())
    return fail("stage " + std::to_string(action.stage) + " of " +
                    std::to_string(problem.stages()),
                at);
  std::string name = nameOf(action);
  if (problem.coordinateOf[action.stage] != at.coordinate)
    return fail(name + ": stage " + std::to_string(action.stage) +
                    " lies on coordinate " +
                    std::to_string(problem.coordinateOf[action.stage]),
                at);
  if (action.microbatch < 0 || action.microbatch >= problem.microbatches)
    return fail(name + ": there are microbatches 0 to " +
                    std::to_string(problem.microbatches - 1),
                at);
  if (action.kind == ActionKind::Weight && !problem.split)
    return fail(name + ": backward is not split, so that there are no weight "
                       "actions",
                at);
  if (action.slot < 0 || action.slot >= schedule.slots[action.stage])
    return fail(name + ": slot " + std::to_string(action.slot) +
                    " of a stage with " +
                    std::to_string(schedule.slots[action.stage]),
                at);
  return true;
}

bool FaultSearch::searchActions() {
  placeOf.assign(problem.numActions(), Place());
  return each([&](const ScheduleAction &action, Place at) {
    if (!checkAction(action, at))
      return false;
    Place &place = placeOf[problem.indexOf(action)];
    if (place.coordinate >= 0)
      return fail(nameOf(action) + " is there twice", at);
    place = at;
    return true;
  });
}

bool FaultSearch::searchMissing() {
  for (int64_t stage = 0; stage < problem.stages(); ++stage)
    for (int64_t m = 0; m < problem.microbatches; ++m)
      for (int k = 0; k <= static_cast<int>(problem.lastKind()); ++k) {
        ScheduleAction action{static_cast<ActionKind>(k), stage, m, 0};
        if (placeOf[problem.indexOf(action)].coordinate < 0)
          return fail(nameOf(action) + " is missing",
                      {problem.coordinateOf[stage], -1});
      }
  return true;
}

/// Actions of one microbatch of one stage stand in their order and share a
/// slot that no other microbatch has in between.
bool FaultSearch::searchSlots() {
  std::map<std::pair<int64_t, int64_t>, ScheduleAction> holders;
  return each([&](const ScheduleAction &action, Place at) {
    auto own = problem.needsOf(action);
    for (const ScheduleAction &need : own)
      if (need.stage == action.stage) {
        Place before = placeOf[problem.indexOf(need)];
        if (before.place > at.place)
          return fail(nameOf(action) + " comes before " + nameOf(need), at);
        if (schedule.actions[at.coordinate][before.place].slot != action.slot)
          return fail(nameOf(action) + " has slot " +
                          std::to_string(action.slot) + ", " + nameOf(need) +
                          " another",
                      at);
      }
    std::pair<int64_t, int64_t> slot(action.stage, action.slot);
    if (action.kind == ActionKind::Forward) {
      auto [held, taken] = holders.insert({slot, action});
      if (!taken)
        return fail(nameOf(action) + " takes slot " +
                        std::to_string(action.slot) + ", which " +
                        nameOf(held->second) + " still holds",
                    at);
    } else if (action.kind == problem.lastKind()) {
      holders.erase(slot);
    }
    return true;
  });
}

bool FaultSearch::searchLimit() {
  if (problem.slotLimit == 0)
    return true;
  std::vector<int64_t> slots(problem.coordinates, 0);
  for (int64_t stage = 0; stage < problem.stages(); ++stage)
    slots[problem.coordinateOf[stage]] += schedule.slots[stage];
  for (int64_t c = 0; c < problem.coordinates; ++c)
    if (slots[c] > problem.slotLimit)
      return fail(std::to_string(slots[c]) + " slots, the limit is " +
                      std::to_string(problem.slotLimit),
                  {c, -1});
  return true;
}

/// Runs what can run until nothing more can.
void FaultSearch::advance(std::vector<int64_t> &next, std::vector<bool> &done) {
  auto ready = [&](const ScheduleAction &action) {
    for (const ScheduleAction &need : problem.needsOf(action))
      if (!done[problem.indexOf(need)])
        return false;
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t c = 0; c < problem.coordinates; ++c) {
      const ActionList &list = schedule.actions[c];
      for (;
           next[c] < static_cast<int64_t>(list.size()) && ready(list[next[c]]);
           ++next[c]) {
        done[problem.indexOf(list[next[c]])] = true;
        moved = true;
      }
    }
  }
}

/// Follows who waits for whom from coordinate `start` until one comes again.
std::string FaultSearch::describeCycle(const std::vector<int64_t> &next,
                                       const std::vector<bool> &done,
                                       int64_t start) {
  std::vector<bool> seen(problem.coordinates, false);
  std::string text;
  for (int64_t c = start; !seen[c];) {
    seen[c] = true;
    const ScheduleAction &waits = schedule.actions[c][next[c]];
    for (const ScheduleAction &need : problem.needsOf(waits)) {
      if (done[problem.indexOf(need)])
        continue;
      int64_t other = problem.coordinateOf[need.stage];
      text += (text.empty() ? "" : "; ") + nameOf(waits) + " of coordinate " +
              std::to_string(c) + " waits for " + nameOf(need) +
              " of coordinate " + std::to_string(other) + ", which is behind " +
              nameOf(schedule.actions[other][next[other]]);
      c = other;
      break;
    }
  }
  return text;
}

bool FaultSearch::searchCycles() {
  std::vector<int64_t> next(problem.coordinates, 0);
  std::vector<bool> done(problem.numActions(), false);
  advance(next, done);
  for (int64_t c = 0; c < problem.coordinates; ++c)
    if (next[c] < static_cast<int64_t>(schedule.actions[c].size()))
      return fail("deadlock: " + describeCycle(next, done, c), {c, next[c]});
  return true;
}

bool FaultSearch::searchMessages() {
  std::optional<Overtaking> found = findOvertaking(problem, schedule.actions);
  if (!found)
    return true;
  const ActionList &sender = schedule.actions[found->sender];
  const ActionList &receiver = schedule.actions[found->receiver];
  return fail(
      nameOf(receiver[found->neededLast]) + " needs " +
          nameOf(sender[found->sentFirst]) + " of coordinate " +
          std::to_string(found->sender) + ", sent before " +
          nameOf(sender[found->sentLast]) + ", which " +
          nameOf(receiver[found->neededFirst]) +
          " needs earlier; values come in the order in which they are sent",
      {found->receiver, found->neededLast});
}

} // namespace

ScheduleFault findFault(const ScheduleProblem &problem,
                        const Schedule &schedule) {
  return FaultSearch(problem, schedule).find();
}

} // namespace tandem

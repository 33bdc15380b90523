#include "passes/strategy/WeightPlacement.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace tandem {
namespace {

/// A coordinate on its way through its order.
struct Walker {
  ActionList done;
  std::deque<ScheduleAction> waiting; ///< Weight actions that may run.
  size_t next = 0;                    ///< In the order.
  int64_t time = 0, slots = 0;
};

/// What a coordinate could do next.
struct Step {
  int64_t start = 0;
  ScheduleAction action;
  bool isWeight = false;
};

class Placement {
public:
  Placement(const ScheduleProblem &problem,
            const std::vector<ActionList> &order)
      : problem(problem), order(order), walkers(problem.coordinates),
        end(problem.numActions(), -1), held(problem.stages(), 0),
        slots(problem.stages(), 0) {}

  std::vector<ActionList> run() {
    while (advance())
      ;
    std::vector<ActionList> lists;
    for (Walker &walker : walkers)
      lists.push_back(std::move(walker.done));
    return lists;
  }

private:
  bool lacksSlot(const Walker &walker, const ScheduleAction &action) const;
  std::optional<int64_t> readyAt(const ScheduleAction &action) const;
  std::optional<Step> stepOf(const Walker &walker,
                             const ActionList &list) const;
  bool advance();
  void take(Walker &walker, const Step &step);

  const ScheduleProblem &problem;
  const std::vector<ActionList> &order;
  std::vector<Walker> walkers;
  std::vector<int64_t> end;   ///< Of each action, -1 before it is known.
  std::vector<int64_t> held;  ///< Of each stage, slots in use.
  std::vector<int64_t> slots; ///< Of each stage, slots it has.
};

bool Placement::lacksSlot(const Walker &walker,
                          const ScheduleAction &action) const {
  return action.kind == ActionKind::Forward && problem.slotLimit > 0 &&
         held[action.stage] == slots[action.stage] &&
         walker.slots == problem.slotLimit;
}

std::optional<int64_t> Placement::readyAt(const ScheduleAction &action) const {
  int64_t ready = 0;
  for (const ScheduleAction &need : problem.needsOf(action)) {
    int64_t ended = end[problem.indexOf(need)];
    if (ended < 0)
      return std::nullopt;
    ready = std::max(ready, ended);
  }
  return ready;
}

std::optional<Step> Placement::stepOf(const Walker &walker,
                                      const ActionList &list) const {
  std::optional<int64_t> ready;
  if (walker.next < list.size()) {
    const ScheduleAction &action = list[walker.next];
    if (lacksSlot(walker, action)) {
      for (const ScheduleAction &weight : walker.waiting)
        if (weight.stage == action.stage)
          return Step{walker.time, weight, true};
      return std::nullopt;
    }
    ready = readyAt(action);
    if (ready && (*ready <= walker.time || walker.waiting.empty()))
      return Step{std::max(*ready, walker.time), action, false};
  }
  if (walker.waiting.empty())
    return std::nullopt;
  return Step{walker.time, walker.waiting.front(), true};
}

/// Takes the earliest step of all coordinates, weight actions last, so that
/// none runs while something could still become ready by its start.
bool Placement::advance() {
  std::optional<Step> best;
  Walker *walker = nullptr;
  for (int64_t c = 0; c < problem.coordinates; ++c) {
    std::optional<Step> step = stepOf(walkers[c], order[c]);
    if (!step || (best && std::pair(best->start, best->isWeight) <=
                              std::pair(step->start, step->isWeight)))
      continue;
    best = step;
    walker = &walkers[c];
  }
  if (best)
    take(*walker, *best);
  return best.has_value();
}

void Placement::take(Walker &walker, const Step &step) {
  const ScheduleAction &action = step.action;
  walker.time = step.start + 1;
  end[problem.indexOf(action)] = walker.time;
  walker.done.push_back(action);
  if (step.isWeight) {
    auto same = [&](const ScheduleAction &other) {
      return problem.indexOf(other) == problem.indexOf(action);
    };
    walker.waiting.erase(
        std::find_if(walker.waiting.begin(), walker.waiting.end(), same));
    --held[action.stage];
    return;
  }
  ++walker.next;
  if (action.kind == ActionKind::Backward) {
    walker.waiting.push_back(
        {ActionKind::Weight, action.stage, action.microbatch, 0});
  } else if (++held[action.stage] > slots[action.stage]) {
    ++slots[action.stage];
    ++walker.slots;
  }
}

} // namespace

std::vector<ActionList> placeWeights(const ScheduleProblem &problem,
                                     const std::vector<ActionList> &order) {
  return Placement(problem, order).run();
}

} // namespace tandem

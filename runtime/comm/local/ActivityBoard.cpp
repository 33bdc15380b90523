#include "runtime/comm/local/ActivityBoard.h"

namespace tandem {
namespace {

std::string textOf(const Activity &activity) {
  std::string text = activity.instruction;
  if (*activity.location)
    text += std::string(" (") + activity.location + ")";
  return text;
}

} // namespace

Activity ActivityBoard::of(int64_t rank, int channel) const {
  const Cell &cell = rows[rank].cells[channel];
  Activity activity;
  activity.instruction = cell.instruction.load(std::memory_order_acquire);
  activity.location = cell.location.load(std::memory_order_relaxed);
  return activity;
}

int64_t ActivityBoard::waitedFor(int64_t rank, int channel) const {
  int64_t found = rows[rank].cells[channel].waitingFor.load();
  for (const Cell &cell : rows[rank].cells)
    if (found < 0)
      found = cell.waitingFor.load();
  return found;
}

std::string ActivityBoard::placeOf(int64_t rank, int channel) const {
  Activity here = of(rank, channel);
  return *here.instruction ? textOf(here) : "its first call";
}

Activity ActivityBoard::latest(int64_t rank) const {
  return of(rank, rows[rank].latest.load(std::memory_order_relaxed));
}

std::string ActivityBoard::describe(int64_t rank, int channel) const {
  int last = rows[rank].latest.load(std::memory_order_relaxed);
  Activity here = of(rank, channel), there = of(rank, last);
  bool isHere = *here.instruction, isThere = *there.instruction;
  if (!isHere && !isThere)
    return "has begun nothing yet";
  if (last == channel || !isThere)
    return "is at " + textOf(here);
  if (!isHere)
    return "is at " + textOf(there);
  return "is at " + textOf(here) + " on this stream and at " + textOf(there) +
         " on stream " + std::to_string(last);
}

} // namespace tandem

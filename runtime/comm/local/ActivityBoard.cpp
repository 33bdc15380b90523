#include "runtime/comm/local/ActivityBoard.h"

namespace tandem {
namespace {

std::string placeOf(const Activity &activity) {
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
    return "is at " + placeOf(here);
  if (!isHere)
    return "is at " + placeOf(there);
  return "is at " + placeOf(here) + " on this stream and at " + placeOf(there) +
         " on stream " + std::to_string(last);
}

} // namespace tandem

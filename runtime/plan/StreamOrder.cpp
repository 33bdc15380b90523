#include "runtime/plan/StreamOrder.h"

#include <algorithm>

namespace tandem {

StreamOrder::StreamOrder(const fb::Program &program) {
  std::vector<bool> used;
  for (const fb::Instruction *instruction : *program.instructions()) {
    if (instruction->stream() >= used.size())
      used.resize(instruction->stream() + 1u, false);
    used[instruction->stream()] = true;
  }
  uint32_t streams = 0;
  for (bool isUsed : used)
    numbers.push_back(isUsed ? streams++ : kNone);
  clocks.assign(streams, Clock(streams, -1));
}

void StreamOrder::advance(const Step &step) {
  uint32_t stream = numberOf(step.instruction());
  Clock &clock = clocks[stream];
  if (step.op() == fb::Opcode::Wait && step.event() < events.size() &&
      !events[step.event()].empty()) {
    const Clock &event = events[step.event()];
    for (size_t s = 0; s < clock.size(); ++s)
      clock[s] = std::max(clock[s], event[s]);
  }
  clock[stream] = step.position();
  if (step.op() == fb::Opcode::Record) {
    if (step.event() >= events.size())
      events.resize(step.event() + size_t(1));
    events[step.event()] = clock;
  }
}

} // namespace tandem

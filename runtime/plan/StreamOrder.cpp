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

void StreamOrder::advance(const fb::Instruction &instruction, int64_t index) {
  uint32_t stream = numberOf(instruction);
  Clock &clock = clocks[stream];
  if (instruction.op() == fb::Opcode::Wait &&
      instruction.target() < events.size() &&
      !events[instruction.target()].empty()) {
    const Clock &event = events[instruction.target()];
    for (size_t s = 0; s < clock.size(); ++s)
      clock[s] = std::max(clock[s], event[s]);
  }
  clock[stream] = index;
  if (instruction.op() == fb::Opcode::Record) {
    if (instruction.target() >= events.size())
      events.resize(instruction.target() + size_t(1));
    events[instruction.target()] = clock;
  }
}

} // namespace tandem

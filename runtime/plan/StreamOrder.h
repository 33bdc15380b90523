//===- StreamOrder.h - What has surely run before what ----------*- C++ -*-===//
//
// Clocks over the streams of one program: `clock[s][t]` is the last
// instruction of stream t that surely ran before what stream s does next. A
// record keeps the clock of its stream, a wait takes the maximum with it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_STREAMORDER_H
#define TANDEM_RUNTIME_PLAN_STREAMORDER_H

#include "runtime/plan/Walk.h"

namespace tandem {

/// An instruction on a stream; before the program where `index` is -1.
struct Access {
  uint32_t stream = 0;
  int64_t index = -1;
};

class StreamOrder {
public:
  /// Gives every stream that `program` uses a number from 0.
  explicit StreamOrder(const fb::Program &program);

  uint32_t streams() const { return static_cast<uint32_t>(clocks.size()); }
  uint32_t numberOf(const fb::Instruction &instruction) const {
    return numbers[instruction.stream()];
  }
  /// Goes on by one step of the program.
  void advance(const Step &step);
  /// Whether `earlier` ran before what `stream` does now.
  bool isBefore(const Access &earlier, uint32_t stream) const {
    return earlier.stream == stream ||
           clocks[stream][earlier.stream] >= earlier.index;
  }

private:
  using Clock = std::vector<int64_t>;
  std::vector<uint32_t> numbers; ///< By the plan's stream.
  std::vector<Clock> clocks;
  std::vector<Clock> events;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_STREAMORDER_H

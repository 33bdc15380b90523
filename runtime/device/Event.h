//===- Event.h - A point that a stream passes -------------------*- C++ -*-===//
//
// `record` numbers the points on the thread that enqueues; the stream that
// gets there says `pass`; a stream that waits does so for the number that was
// the latest when the wait was enqueued. An event never recorded holds nobody.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_EVENT_H
#define TANDEM_RUNTIME_DEVICE_EVENT_H

#include "runtime/device/Ending.h"
#include "runtime/device/WaitWord.h"

namespace tandem {

class Event {
public:
  /// The number of a new point; called by the enqueuing thread only.
  uint32_t record() { return ++recorded; }
  /// The point that a wait enqueued now waits for.
  uint32_t latest() const { return recorded; }

  /// Two streams may record the same event: the later point counts.
  void pass(uint32_t point) { passed.raise(point); }
  /// Blocks until `point` is passed or the device has ended.
  void wait(uint32_t point, const Ending &ending) {
    passed.wait([point](uint32_t now) { return WaitWord::reached(now, point); },
                [&ending] { return ending.reached(); });
  }

private:
  uint32_t recorded = 0;
  alignas(64) WaitWord passed;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_EVENT_H

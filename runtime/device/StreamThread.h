//===- StreamThread.h - A stream that has a thread of its own ---*- C++ -*-===//
//
// A ring of commands that one thread fills and the stream's thread empties in
// order. Filling allocates nothing; it blocks while the ring is full, which
// cannot deadlock: a wait only ever waits for records enqueued before it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_STREAMTHREAD_H
#define TANDEM_RUNTIME_DEVICE_STREAMTHREAD_H

#include "runtime/device/Device.h"
#include "runtime/device/Event.h"

#include <thread>

namespace tandem {

class StreamThread {
public:
  /// `before`, where given, is called on the stream's thread before each
  /// command. `ending` outlives the stream. Throws std::system_error where
  /// the system refuses a thread.
  explicit StreamThread(Ending &ending, std::function<void()> before = {});
  /// Runs what is enqueued (drops it once the device has ended), then joins.
  ~StreamThread();

  void enqueue(const HostWork &work);
  void record(Event &event, uint32_t point);
  void wait(Event &event, uint32_t point);
  /// Fills the range with bytes 0xff, which are NaN in every float type.
  void spoil(std::byte *data, size_t bytes);

  /// Blocks until everything enqueued so far has run or was dropped.
  void drain();

private:
  enum class Kind : uint8_t { Work, Record, Wait, Spoil, Stop };
  struct Command {
    Kind kind = Kind::Stop;
    uint32_t point = 0;
    const HostWork *work = nullptr;
    Event *event = nullptr;
    std::byte *data = nullptr;
    size_t bytes = 0;
  };
  static constexpr uint32_t capacity = 1024;

  void push(const Command &command);
  void loop();
  void execute(const Command &command);

  Ending &ending;
  std::function<void()> before;
  std::vector<Command> ring;
  alignas(64) WaitWord pushed; ///< Commands enqueued, modulo 2^31.
  alignas(64) WaitWord done;   ///< Commands finished, modulo 2^31.
  std::thread thread;          ///< Last: it uses all of the above.
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_STREAMTHREAD_H

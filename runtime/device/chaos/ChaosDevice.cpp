//===- ChaosDevice.cpp - A device that keeps no promise it need not -------===//
//
// Every stream, the first too, is a thread that dawdles at random before each
// command, and memory whose lifetime ends is filled with NaN. A missing event
// or a wrong lifetime then shows as wrong numbers, and as a race under
// ThreadSanitizer, which the cpu device would hide.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/HostMemory.h"
#include "runtime/device/StreamThread.h"
#include "runtime/device/ThreadPool.h"

#include <deque>
#include <sched.h>
#include <system_error>

namespace tandem {
namespace {

/// Random numbers of one stream (splitmix64).
class Dawdle {
public:
  explicit Dawdle(uint64_t seed) : state(seed) {}

  /// Mostly nothing, often a yield, seldom a pause of up to 200 us.
  void operator()() {
    uint64_t number = next();
    switch (number % 8) {
    case 0:
      std::this_thread::sleep_for(
          std::chrono::microseconds((number >> 8) % 200));
      break;
    case 1:
    case 2:
    case 3:
      sched_yield();
      break;
    default:
      break;
    }
  }

private:
  uint64_t next() {
    uint64_t mixed = state += 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
    return mixed ^ (mixed >> 31);
  }

  uint64_t state;
};

class ChaosDevice final : public Device {
public:
  ChaosDevice(int threads, uint64_t seed) : pool(threads), seed(seed) {}

  const char *name() const override { return "chaos"; }
  Result<std::byte *> allocate(size_t bytes) override {
    return memory.allocate(bytes);
  }
  ThreadPool &threads() override { return pool; }

  Status prepare(int count, int eventCount) override {
    try {
      while (static_cast<int>(streams.size()) < count)
        streams.emplace_back(ending, Dawdle(seed + (streams.size() << 32)));
    } catch (const std::system_error &error) {
      return Status::rankFailed(
          std::string("cannot start the thread of a stream: ") + error.what());
    }
    while (static_cast<int>(events.size()) < eventCount)
      events.emplace_back();
    return Status();
  }

  void enqueue(int stream, const HostWork &work) override {
    streams[stream].enqueue(work);
  }
  void record(int stream, int event) override {
    streams[stream].record(events[event], events[event].record());
  }
  void wait(int stream, int event) override {
    streams[stream].wait(events[event], events[event].latest());
  }
  bool discards() const override { return true; }
  void discard(int stream, std::byte *data, size_t bytes) override {
    streams[stream].spoil(data, bytes);
  }

  Status synchronize() override {
    for (StreamThread &stream : streams)
      stream.drain();
    return ending.status();
  }

  void abort(const Status &status) override { ending.set(status); }

private:
  // Streams are destroyed first: their threads use what stands above them.
  HostMemory memory;
  ThreadPool pool;
  uint64_t seed;
  Ending ending;
  std::deque<Event> events;
  std::deque<StreamThread> streams;
};

} // namespace

std::unique_ptr<Device> createChaosDevice(int threads, uint64_t seed) {
  return std::make_unique<ChaosDevice>(threads, seed);
}

} // namespace tandem

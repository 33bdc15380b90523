//===- CpuDevice.cpp - The machine's own cores as a device ------*- C++ -*-===//
//
// Stream 0 is the calling thread: its work runs inside `enqueue`, so that a
// plan with one stream pays for no hand-over between threads.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/HostMemory.h"
#include "runtime/device/StreamThread.h"
#include "runtime/device/ThreadPool.h"

#include <deque>
#include <system_error>

namespace tandem {
namespace {

class CpuDevice final : public Device {
public:
  explicit CpuDevice(int threads) : pool(threads) {}

  const char *name() const override { return "cpu"; }
  Result<std::byte *> allocate(size_t bytes) override {
    return memory.allocate(bytes);
  }
  ThreadPool &threads() override { return pool; }

  Status prepare(int streams, int events) override {
    try {
      while (static_cast<int>(further.size()) < streams - 1)
        further.emplace_back(ending);
    } catch (const std::system_error &error) {
      return Status::rankFailed(
          std::string("cannot start the thread of a stream: ") + error.what());
    }
    while (static_cast<int>(this->events.size()) < events)
      this->events.emplace_back();
    return Status();
  }

  void enqueue(int stream, const HostWork &work) override {
    if (stream == 0)
      ending.run(work);
    else
      further[stream - 1].enqueue(work);
  }

  void record(int stream, int event) override {
    Event &recorded = events[event];
    uint32_t point = recorded.record();
    if (stream == 0)
      recorded.pass(point);
    else
      further[stream - 1].record(recorded, point);
  }

  void wait(int stream, int event) override {
    Event &awaited = events[event];
    if (stream == 0)
      awaited.wait(awaited.latest(), ending);
    else
      further[stream - 1].wait(awaited, awaited.latest());
  }

  Status synchronize() override {
    for (StreamThread &stream : further)
      stream.drain();
    return ending.status();
  }

  void abort(const Status &status) override { ending.set(status); }

private:
  // Streams are destroyed first: their threads use what stands above them.
  HostMemory memory;
  ThreadPool pool;
  Ending ending;
  std::deque<Event> events;
  std::deque<StreamThread> further;
};

} // namespace

std::unique_ptr<Device> createCpuDevice(int threads) {
  return std::make_unique<CpuDevice>(threads);
}

} // namespace tandem

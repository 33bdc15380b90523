//===- DelayDevice.h - A device of set computing times ----------*- C++ -*-===//
//
// The cpu device, but what its first stream runs takes so long as a list says,
// one entry for each piece of work in the order in which a run enqueues it. So
// stages of a plan take known times on any machine, without a processor each.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_SCHEDULES_DELAYDEVICE_H
#define TANDEM_TEST_SCHEDULES_DELAYDEVICE_H

#include "runtime/device/Device.h"

#include <chrono>
#include <thread>

namespace tandem {

class DelayDevice : public Device {
public:
  using Clock = std::chrono::steady_clock;

  DelayDevice() : base(createCpuDevice(1)) {}

  /// Seconds of each work on stream 0 of a run; 0: as long as it takes.
  std::vector<double> delays;
  /// When the delayed work of the last run began first and ended last.
  Clock::time_point begin, end;

  void startRun() {
    next = 0;
    begin = end = Clock::time_point();
  }

  const char *name() const override { return "delay"; }
  Result<std::byte *> allocate(size_t bytes) override {
    return base->allocate(bytes);
  }
  Status prepare(int streams, int events) override {
    return base->prepare(streams, events);
  }
  void enqueue(int stream, const HostWork &work) override {
    double seconds = stream == 0 && next < delays.size() ? delays[next++] : 0;
    // The work is part of the time that it is said to take.
    Clock::time_point start = Clock::now();
    base->enqueue(stream, work);
    if (seconds <= 0)
      return;
    std::this_thread::sleep_until(start +
                                  std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds)));
    if (begin == Clock::time_point())
      begin = start;
    end = Clock::now();
  }
  void record(int stream, int event) override { base->record(stream, event); }
  void wait(int stream, int event) override { base->wait(stream, event); }
  Status synchronize() override { return base->synchronize(); }
  void abort(const Status &status) override { base->abort(status); }
  ThreadPool &threads() override { return base->threads(); }

private:
  std::unique_ptr<Device> base;
  size_t next = 0;
};

} // namespace tandem

#endif // TANDEM_TEST_SCHEDULES_DELAYDEVICE_H

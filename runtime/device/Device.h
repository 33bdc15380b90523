//===- Device.h - Memory, streams and events of one rank --------*- C++ -*-===//
//
// What it is: the little that the executor asks of hardware. Every rank has
// one Device. Work is *enqueued* on a stream and runs in that stream's order;
// events order streams among each other. The caller never assumes that work
// has run when `enqueue` returns, only after `synchronize`.
//
//   Stream s0, s1:   s0: A  record(e)  B        B and C may run together,
//                    s1: wait(e)  C             C runs after A
//
// The cpu device runs stream 0 on the calling (rank's) thread, inside
// `enqueue`: a stream is an order, not a thread. Each further stream is one
// more thread. The chaos device gives every stream a thread and random delays.
//
// Failure: the first Status that enqueued work returns ends the device: later
// work is dropped, waits return, `synchronize` returns that Status.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_DEVICE_H
#define TANDEM_RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tandem {

/// Work that the host runs when its stream reaches it.
using HostWork = std::function<Status()>;

class ThreadPool;

class Device {
public:
  virtual ~Device() = default;

  /// `cpu`, `chaos`, ...
  virtual const char *name() const = 0;

  /// Zero-filled memory, aligned to 4096; owned by the device.
  virtual Result<std::byte *> allocate(size_t bytes) = 0;

  /// Makes streams 0 to `streams` - 1 and events 0 to `events` - 1 exist.
  virtual Status prepare(int streams, int events) = 0;

  /// Enqueues work on a stream. `work` stays alive until it ran: callers keep
  /// it in a prepared program, so that a step allocates nothing.
  virtual void enqueue(int stream, const HostWork &work) = 0;
  /// Marks the point that `stream` has reached as `event`.
  virtual void record(int stream, int event) = 0;
  /// Holds `stream` until `event`'s latest record has been passed.
  virtual void wait(int stream, int event) = 0;
  /// Blocks until all streams are idle; the first failure, if any.
  virtual Status synchronize() = 0;
  /// Drops what has not run and makes waits return `status`.
  virtual void abort(const Status &status) = 0;

  /// Whether `discard` does anything, so that it is worth finding out what.
  virtual bool discards() const { return false; }
  /// Tells a testing device that the range holds nothing useful any more.
  virtual void discard(int stream, std::byte *data, size_t bytes) {
    (void)stream, (void)data, (void)bytes;
  }

  /// The threads that kernels on this rank may use.
  virtual ThreadPool &threads() = 0;
};

/// `threads` for each rank's kernels, at least 1.
std::unique_ptr<Device> createCpuDevice(int threads);
/// The testing device; delays and order come from `seed`.
std::unique_ptr<Device> createChaosDevice(int threads, uint64_t seed);

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_DEVICE_H

//===- Ending.h - The failure that ends a device ----------------*- C++ -*-===//
//
// Keeps the first failure of a device's streams. Reading whether there is one
// costs a load, so every wait may look at it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_ENDING_H
#define TANDEM_RUNTIME_DEVICE_ENDING_H

#include "runtime/base/Status.h"

#include <atomic>
#include <functional>
#include <mutex>

namespace tandem {

class Ending {
public:
  bool reached() const { return ended.load(std::memory_order_acquire); }

  /// The first failure, OK while there is none.
  Status status() const;
  /// Keeps `failure` unless there is one already; an OK status is ignored.
  void set(const Status &failure);
  /// Runs `work` unless the device has ended, and keeps its failure. An
  /// exception is a failure.
  void run(const std::function<Status()> &work);

private:
  std::atomic<bool> ended{false};
  mutable std::mutex mutex;
  Status first;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_ENDING_H

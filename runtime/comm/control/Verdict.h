//===- Verdict.h - The fault that all threads of a process see --*- C++ -*-===//
//
// What any thread may ask to be made the world's fault, and what was made it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_VERDICT_H
#define TANDEM_RUNTIME_COMM_CONTROL_VERDICT_H

#include "runtime/comm/control/Fault.h"

#include <mutex>
#include <optional>

namespace tandem {

class Verdict {
public:
  bool given() const { return set.load(std::memory_order_acquire); }
  Status status() const {
    std::lock_guard<std::mutex> lock(mutex);
    return fault.status();
  }
  /// Makes `found` the fault; false where there is one already.
  bool give(const Fault &found) {
    std::lock_guard<std::mutex> lock(mutex);
    if (set.load())
      return false;
    fault = found;
    set.store(true, std::memory_order_release);
    return true;
  }

  /// Asks the control thread to give it.
  void request(const Fault &wanted) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!wish)
      wish = wanted;
  }
  std::optional<Fault> requested() const {
    std::lock_guard<std::mutex> lock(mutex);
    return wish;
  }

private:
  mutable std::mutex mutex;
  std::atomic<bool> set{false};
  Fault fault;
  std::optional<Fault> wish;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_VERDICT_H

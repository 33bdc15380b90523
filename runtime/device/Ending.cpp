#include "runtime/device/Ending.h"

#include "runtime/base/Guarded.h"

namespace tandem {

Status Ending::status() const {
  if (!reached())
    return Status();
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

void Ending::set(const Status &failure) {
  if (failure.ok())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  if (!first.ok())
    return;
  first = failure;
  ended.store(true, std::memory_order_release);
}

void Ending::run(const std::function<Status()> &work) {
  if (reached())
    return;
  set(guarded(work));
}

} // namespace tandem

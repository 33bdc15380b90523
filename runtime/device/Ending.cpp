#include "runtime/device/Ending.h"

#include <exception>

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
  try {
    Status status = work();
    if (!status.ok())
      set(status);
  } catch (const std::exception &error) {
    set(Status::rankFailed(std::string("work on a stream threw: ") +
                           error.what()));
  }
}

} // namespace tandem

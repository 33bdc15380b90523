#include "runtime/comm/control/ControlPlane.h"

#include <mutex>

namespace tandem {

class ControlPlane::Impl {
public:
  ActivityTable activity;
  mutable std::mutex mutex;
  Status fault;
  std::string address;
  int64_t size = 1;
};

ControlPlane::ControlPlane(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
ControlPlane::~ControlPlane() = default;

Result<std::unique_ptr<ControlPlane>>
ControlPlane::listen(int64_t, int64_t size, const ControlOptions &) {
  auto impl = std::make_unique<Impl>();
  impl->size = size;
  return std::unique_ptr<ControlPlane>(new ControlPlane(std::move(impl)));
}

const std::string &ControlPlane::address() const { return impl->address; }
Status ControlPlane::connect(const std::vector<std::string> &) {
  return Status();
}
int64_t ControlPlane::ranksHere() const { return impl->size; }
ActivityTable &ControlPlane::activity() { return impl->activity; }
Status ControlPlane::fault() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->fault;
}
Status ControlPlane::surrender() const { return fault(); }
void ControlPlane::abort(const Status &cause) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  if (impl->fault.ok())
    impl->fault = cause;
  failed.store(true, std::memory_order_release);
}
void ControlPlane::expectEnd() {}
void ControlPlane::close() {}

} // namespace tandem

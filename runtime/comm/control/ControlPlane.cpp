#include "runtime/comm/control/ControlPlane.h"

#include "runtime/base/Log.h"
#include "runtime/comm/control/ControlThread.h"
#include "runtime/comm/control/Endpoint.h"

#include <unistd.h>

namespace tandem {

class ControlPlane::Impl {
public:
  Impl(int64_t rank, int64_t size, const ControlOptions &options)
      : rank(rank), size(size), options(options) {}

  const int64_t rank, size;
  const ControlOptions options;
  ActivityTable table;
  Verdict verdict;
  std::unique_ptr<Endpoint> endpoint;
  std::string packedAddress;
  int64_t ranksHere = 1;
  std::function<void()> onTerminate;
  std::unique_ptr<ControlThread> thread;
};

ControlPlane::ControlPlane(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}

Result<std::unique_ptr<ControlPlane>>
ControlPlane::listen(int64_t rank, int64_t size,
                     const ControlOptions &options) {
  auto impl = std::make_unique<Impl>(rank, size, options);
  TANDEM_ASSIGN(impl->endpoint, Endpoint::listen(rank));
  impl->packedAddress = impl->endpoint->address().pack();
  return std::unique_ptr<ControlPlane>(new ControlPlane(std::move(impl)));
}

ControlPlane::~ControlPlane() {
  if (!impl->thread)
    return;
  Fault fault;
  fault.rank = impl->rank;
  fault.cause =
      "rank " + std::to_string(impl->rank) + " ended before the others";
  impl->thread->stop(fault.frame());
}

const std::string &ControlPlane::address() const { return impl->packedAddress; }

Status ControlPlane::connect(const std::vector<std::string> &addresses) {
  if (static_cast<int64_t>(addresses.size()) != impl->size)
    return Status::rankFailed(
        "control plane: " + std::to_string(addresses.size()) +
        " addresses for " + std::to_string(impl->size) + " ranks");
  std::vector<EndpointAddress> all;
  for (const std::string &packed : addresses) {
    Result<EndpointAddress> address = EndpointAddress::unpack(packed);
    if (!address.ok())
      return Status::rankFailed(address.status().message() + ": rank " +
                                std::to_string(all.size()) +
                                " runs another build of Tandem");
    all.push_back(std::move(*address));
  }
  impl->ranksHere = std::count_if(all.begin(), all.end(), [&](const auto &one) {
    return one.machine == all[impl->rank].machine;
  });
  TANDEM_ASSIGN(auto connections,
                impl->endpoint->meet(neighboursOf(impl->rank, impl->size,
                                                  impl->options.completeLimit),
                                     all));
  impl->endpoint.reset();
  impl->thread =
      std::make_unique<ControlThread>(impl->rank, impl->options, impl->table,
                                      impl->verdict, std::move(connections));
  impl->thread->onTerminate = impl->onTerminate;
  impl->thread->start();
  return Status();
}

void ControlPlane::onTerminate(std::function<void()> hook) {
  impl->onTerminate = std::move(hook);
}

int64_t ControlPlane::ranksHere() const { return impl->ranksHere; }
ActivityTable &ControlPlane::activity() { return impl->table; }
void ControlPlane::setSetUpDeadline(bool holds) {
  impl->table.setUpHasDeadline.store(holds);
}
bool ControlPlane::faulted() const { return impl->verdict.given(); }

Status ControlPlane::fault() const {
  return faulted() ? impl->verdict.status() : Status();
}

Status ControlPlane::surrender() const {
  if (!impl->options.exitOnFault)
    return fault();
  // The control thread is about to end the process; what this thread had in
  // hand must not go on meanwhile.
  sleep(5);
  _exit(fault().exitCode());
}

void ControlPlane::abort(const Status &cause) {
  if (cause.ok())
    return;
  Fault fault = Fault::of(cause);
  if (impl->thread) {
    impl->verdict.request(fault);
    impl->thread->wake();
    for (int i = 0; i < 1000 && !faulted(); ++i)
      usleep(1000);
  } else if (impl->verdict.give(fault) && impl->options.exitOnFault) {
    log(LogLevel::Error, cause.toString());
    _exit(cause.exitCode());
  }
  if (impl->options.exitOnFault)
    (void)surrender();
}

void ControlPlane::close() {
  if (!impl->thread)
    return;
  impl->thread->stop(FrameWriter(FrameKind::Goodbye).finish());
  impl->thread.reset();
}

} // namespace tandem

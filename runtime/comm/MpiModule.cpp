#include "runtime/comm/MpiModule.h"

#include "runtime/base/Log.h"
#include "runtime/comm/control/ControlPlane.h"
#include "runtime/comm/control/CrashHandler.h"
#include "runtime/comm/control/Signals.h"
#include "runtime/comm/mpi/ModuleFile.h"
#include "runtime/comm/mpi/MpiCommunicator.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace tandem {

class MpiWorld::Impl {
public:
  Impl(const TandemMpiTable &table, const TandemMpiWorld &world,
       std::unique_ptr<ControlPlane> plane)
      : plane(std::move(plane)), link(table, world, *this->plane),
        communicator(link) {}

  std::unique_ptr<ControlPlane> plane;
  MpiLink link;
  MpiCommunicator communicator;
};

MpiWorld::MpiWorld(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
MpiWorld::MpiWorld(MpiWorld &&other) noexcept = default;
MpiWorld::~MpiWorld() = default;

int64_t MpiWorld::rank() const { return impl->communicator.rank(); }
int64_t MpiWorld::size() const { return impl->communicator.size(); }
int64_t MpiWorld::ranksHere() const { return impl->plane->ranksHere(); }
Communicator &MpiWorld::communicator() { return impl->communicator; }
ControlPlane &MpiWorld::control() { return *impl->plane; }

void MpiWorld::begin(const Activity &phase) {
  impl->communicator.begin(ActivityTable::setUp, phase);
}

void MpiWorld::forget() {
  impl->plane->activity().forget();
  setCrashActivity(rank(), "", "");
}

void MpiWorld::abort(const Status &cause) { impl->plane->abort(cause); }

void MpiWorld::setDeadlineForBytes(bool holds) {
  impl->plane->setSetUpDeadline(holds);
}

Status MpiWorld::broadcast(std::string &bytes, int64_t root) {
  return impl->communicator.broadcastBytes(bytes, root);
}

Result<std::vector<std::string>> MpiWorld::gather(const std::string &bytes,
                                                  int64_t root) {
  return impl->communicator.gatherBytes(bytes, root);
}

Status MpiWorld::meet() { return impl->communicator.meet(); }

Status MpiWorld::finish() {
  begin({"close", ""});
  // Nobody reads or thinks any more.
  setDeadlineForBytes(true);
  TANDEM_TRY(meet());
  int code = impl->link.table.close();
  impl->plane->close();
  if (code == 0)
    return Status();
  return Status::rankFailed("MPI did not close: code " + std::to_string(code));
}

namespace {

/// Ends the process where the world does not come up: until the control plane
/// is connected nothing else would notice a rank that was stopped or died.
class StartLimit {
public:
  explicit StartLimit(double seconds) {
    setStarting(true);
    thread = std::thread([this, seconds] {
      std::unique_lock<std::mutex> lock(mutex);
      std::chrono::duration<double> limit(seconds);
      if (up.wait_for(lock, limit, [this] { return over; }))
        return;
      log(LogLevel::Error, "the ranks did not find each other within " +
                               std::to_string(static_cast<int>(seconds)) +
                               " s: a process was stopped, or the launcher's "
                               "MPI is not the one Tandem was built with");
      _exit(Status::rankFailed("").exitCode());
    });
  }
  ~StartLimit() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      over = true;
    }
    up.notify_one();
    thread.join();
    setStarting(false);
  }

private:
  std::mutex mutex;
  std::condition_variable up;
  bool over = false;
  std::thread thread;
};

// Thousands of processes take their time.
constexpr double shortestStart = 60;

/// Gives every rank the addresses of all, over MPI.
Result<std::vector<std::string>>
exchangeAddresses(MpiCommunicator &communicator, const std::string &mine) {
  communicator.begin(ActivityTable::setUp, {"start", ""});
  TANDEM_ASSIGN(std::vector<std::string> all,
                communicator.gatherBytes(mine, 0));
  std::string packed;
  for (const std::string &address : all) {
    auto length = static_cast<uint32_t>(address.size());
    packed.append(reinterpret_cast<const char *>(&length), sizeof length);
    packed += address;
  }
  TANDEM_TRY(communicator.broadcastBytes(packed, 0));
  all.clear();
  for (size_t at = 0; at + sizeof(uint32_t) <= packed.size();) {
    uint32_t length;
    packed.copy(reinterpret_cast<char *>(&length), sizeof length, at);
    all.push_back(packed.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return all;
}

ControlOptions controlOptions(const MpiOptions &options) {
  ControlOptions control;
  control.deadlineSeconds = options.deadlineSeconds;
  control.exitOnFault = options.exitOnFault;
  return control;
}

} // namespace

Result<MpiWorld> openMpi(const MpiOptions &options) {
  TANDEM_ASSIGN(const TandemMpiTable *table, loadMpiTable(options.modulePath));
  std::unique_ptr<StartLimit> limit;
  if (options.exitOnFault)
    limit = std::make_unique<StartLimit>(
        std::max(options.deadlineSeconds, shortestStart));
  TandemMpiWorld world{};
  if (int code = table->open(&world))
    return Status::refused("MPI does not open: " + describe(*table, code));
  TANDEM_ASSIGN(auto plane, ControlPlane::listen(world.rank, world.size,
                                                 controlOptions(options)));
  auto impl = std::make_unique<MpiWorld::Impl>(*table, world, std::move(plane));
  TANDEM_ASSIGN(std::vector<std::string> addresses,
                exchangeAddresses(impl->communicator, impl->plane->address()));
  TANDEM_TRY(impl->plane->connect(addresses));
  impl->link.spin = impl->plane->ranksHere() * options.threadsPerRank <=
                    static_cast<int64_t>(std::thread::hardware_concurrency());
  return MpiWorld(std::move(impl));
}

Result<std::string> mpiVersion(const std::string &modulePath) {
  TANDEM_ASSIGN(const TandemMpiTable *table, loadMpiTable(modulePath));
  char text[256] = "";
  table->version(text, sizeof text);
  return std::string(text);
}

} // namespace tandem

#include "runtime/session/DiskThread.h"

#include "runtime/base/Guarded.h"

#include <algorithm>
#include <system_error>

namespace tandem {

struct DiskThread::Shared {
  Shared(int64_t rank, const std::string &kind, const FaultPoint &fault)
      : disk(rank, kind, fault) {}

  WatchedDisk disk;
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool read = true; ///< Under mutex, as all below.
  bool done = true;
  bool stuck = false;
  RankReply result = std::string();
};

DiskThread::DiskThread(int64_t rank, const std::string &kind,
                       const FaultPoint &fault, double deadlineSeconds)
    : shared(std::make_shared<Shared>(rank, kind, fault)),
      deadline(deadlineSeconds) {}

DiskThread::~DiskThread() {
  (void)await([&] { return shared->done; }).ok();
  if (!thread.joinable())
    return;
  if (stuck())
    thread.detach();
  else
    thread.join();
}

Status DiskThread::begin(const std::string &name, Job job) {
  TANDEM_TRY(await([&] { return shared->done; }));
  if (thread.joinable())
    thread.join();
  shared->read = shared->done = false;
  try {
    thread = std::thread([shared = shared, name, job = std::move(job)] {
      RankReply reply = std::string();
      Status status = guarded([&]() -> Status {
        reply = job(shared->disk);
        return Status();
      });
      std::lock_guard<std::mutex> lock(shared->mutex);
      shared->result =
          status.ok() ? std::move(reply) : RankReply(status.withContext(name));
      shared->read = shared->done = true;
      shared->changed.notify_all();
    });
  } catch (const std::system_error &error) {
    shared->read = shared->done = true;
    return Status::refused(std::string("cannot start the thread that writes "
                                       "a checkpoint: ") +
                           error.what());
  }
  return Status();
}

void DiskThread::setRead() {
  std::lock_guard<std::mutex> lock(shared->mutex);
  shared->read = true;
  shared->changed.notify_all();
}

template <typename Condition>
Status DiskThread::await(const Condition &condition) {
  auto pause = std::chrono::duration<double>(std::min(0.1, deadline / 8));
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (!shared->changed.wait_for(lock, pause, condition))
    if (Status status = shared->disk.answers(deadline); !status.ok()) {
      shared->stuck = true;
      return status;
    }
  return Status();
}

Status DiskThread::awaitRead() {
  return await([&] { return shared->read; });
}

RankReply DiskThread::reply(bool wait) {
  if (wait)
    TANDEM_TRY(await([&] { return shared->done; }));
  std::lock_guard<std::mutex> lock(shared->mutex);
  return shared->done ? shared->result : RankReply(std::string());
}

WatchedDisk &DiskThread::disk() const { return shared->disk; }

bool DiskThread::stuck() const {
  std::lock_guard<std::mutex> lock(shared->mutex);
  return shared->stuck;
}

} // namespace tandem

//===- DiskThread.h - Work on the disk that cannot keep a rank --*- C++ -*-===//
//
// A thread that does one job after another on a WatchedDisk. Whoever waits for
// it stops waiting when one operation lasts longer than the deadline: a rank
// whose disk hangs can still say so and leave.
//
//   TANDEM_TRY(thread.begin([](WatchedDisk &disk) -> RankReply { ... }));
//   TANDEM_TRY(thread.awaitRead());      // the job has called setRead()
//   RankReply reply = thread.reply(/*wait=*/true);
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_DISKTHREAD_H
#define TANDEM_RUNTIME_SESSION_DISKTHREAD_H

#include "runtime/session/RankTask.h"
#include "runtime/session/WatchedDisk.h"

#include <condition_variable>
#include <functional>
#include <thread>

namespace tandem {

class DiskThread {
public:
  using Job = std::function<RankReply(WatchedDisk &)>;

  DiskThread(int64_t rank, const std::string &kind, const FaultPoint &fault,
             double deadlineSeconds);
  /// Waits for the job, unless the disk hangs: then what the job refers to
  /// must stay (`stuck`).
  ~DiskThread();

  /// The job before has to have ended. `name` is what it works on, for
  /// messages.
  Status begin(const std::string &name, Job job);
  /// Of the job: it reads nothing more of others' memory.
  void setRead();
  /// Returns when the job has ended or called setRead; fails where the disk
  /// hangs.
  Status awaitRead();
  /// What the job returned, or that it threw; an empty text while it is at
  /// work, unless `wait`. RankFailed where the disk hangs.
  RankReply reply(bool wait);
  /// The disk that jobs get.
  WatchedDisk &disk() const;
  /// Whether the disk was found to hang, so that the job may never end.
  bool stuck() const;

private:
  /// Lives as long as the job does.
  struct Shared;

  template <typename Condition> Status await(const Condition &condition);

  std::shared_ptr<Shared> shared;
  double deadline;
  std::thread thread;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_DISKTHREAD_H

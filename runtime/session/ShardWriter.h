//===- ShardWriter.h - Writes a rank's shard while it computes --*- C++ -*-===//
//
// A thread that reads what the rank owns where it lies in the arena, and
// writes it to one file. `awaitRead` is the gate before whatever would change
// that memory; the file's way to the disk is not waited for there.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_SHARDWRITER_H
#define TANDEM_RUNTIME_SESSION_SHARDWRITER_H

#include "runtime/exec/Executor.h"
#include "runtime/session/DiskThread.h"

namespace tandem {

/// Asks `reply` to wait until the shard is on the disk.
inline constexpr const char *kWaitForShard = "wait";

class ShardWriter {
public:
  /// Plan and executor outlive it, unless it is stuck. Every operation on the
  /// disk is a `shard` for `fault`.
  ShardWriter(const Plan &plan, const Executor &executor,
              const FaultPoint &fault, double deadlineSeconds);

  /// Begins to write `rank-N.safetensors` in `folder`, unless this rank owns
  /// nothing. The one before is finished.
  Status begin(const std::string &folder);
  /// Returns when no more memory of the rank will be read; fails where the
  /// disk hangs.
  Status awaitRead() { return thread.awaitRead(); }
  /// Empty while it is being written, unless `wait`; then the shard as JSON,
  /// `null` where this rank owns nothing, or why it could not be written.
  /// RankFailed where the disk hangs.
  RankReply reply(bool wait) { return thread.reply(wait); }
  /// Whether a thread that cannot be stopped reads the rank's memory.
  bool stuck() const { return thread.stuck(); }

private:
  RankReply write(const std::string &path, WatchedDisk &disk);

  const Plan &plan;
  const Executor &executor;
  DiskThread thread;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_SHARDWRITER_H

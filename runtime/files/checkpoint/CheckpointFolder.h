//===- CheckpointFolder.h - The folder of a run's checkpoints ---*- C++ -*-===//
//
// What it is: the names under which checkpoints come, stay and go.
//
//   out/step-10/          whole: its manifest was written last
//   out/step-20.tmp/      being written, or left by a crash
//   out/step-15.broken/   failed its checksums when a run wanted to resume
//
// Order is what makes a crash harmless:
//
//   write and sync every shard | write and sync the manifest | sync
//   step-20.tmp | rename it step-20 | sync out | remove what is older
//
// so that at any moment the newest `step-N` is whole, and the one before it
// stays until the newer one is on the disk. What is removed is renamed first.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CHECKPOINT_CHECKPOINTFOLDER_H
#define TANDEM_RUNTIME_FILES_CHECKPOINT_CHECKPOINTFOLDER_H

#include "runtime/files/Disk.h"
#include "runtime/files/checkpoint/Manifest.h"

#include <map>

namespace tandem {

/// The checkpoints in `folder` by their step; those that have their name,
/// whole or damaged since. Empty where there is no such folder.
std::map<int64_t, std::string> listCheckpoints(const std::string &folder);

class CheckpointFolder {
public:
  /// Makes `path` where it is not, claims it until the process ends or this
  /// goes, and removes what a crash left. Refuses a folder that another
  /// process has claimed, one that then holds anything, unless `resume`, and
  /// with `resume` one without a checkpoint. `disk` outlives this.
  static Result<CheckpointFolder> open(const std::string &path, bool resume,
                                       Disk &disk);
  CheckpointFolder(CheckpointFolder &&other) noexcept;
  CheckpointFolder &operator=(CheckpointFolder &&) = delete;
  ~CheckpointFolder();

  const std::string &path() const { return path_; }
  std::map<int64_t, std::string> list() const { return listCheckpoints(path_); }

  /// Makes the folder that the shards of step `step` go to; its path.
  Result<std::string> begin(int64_t step);
  /// Writes the manifest of what was begun, when all its shards are on the
  /// disk, and gives it its name; its path.
  Result<std::string> commit(const CheckpointManifest &manifest);
  /// Removes what was begun.
  Status abandon(int64_t step);
  /// Removes all checkpoints but the `keep` newest.
  Status prune(int64_t keep);
  /// Renames the checkpoint of that step `step-N.broken`.
  Status setAside(int64_t step);

private:
  CheckpointFolder(std::string path, Disk &disk)
      : path_(std::move(path)), disk(&disk) {}
  Status claim();
  Status removeLeftovers();
  std::string nameOf(int64_t step) const;
  Status removeNamed(const std::string &checkpoint);

  std::string path_;
  Disk *disk;
  int claimed = -1; ///< The folder's descriptor, locked.
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CHECKPOINT_CHECKPOINTFOLDER_H

//===- Disk.h - What survives when the machine stops ------------*- C++ -*-===//
//
// The few operations whose order decides what is left after a crash. Code
// that promises something of that kind does all its writing through a Disk,
// so that a test can stop it at any operation and drop what was not synced.
//
//   file = disk.create("new/a"), file->write(...), file->sync()
//   disk.syncFolder("new")          the name `a` is on the disk
//   disk.rename("new", "good")      at once or not at all
//   disk.syncFolder(".")            the rename is on the disk
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_DISK_H
#define TANDEM_RUNTIME_FILES_DISK_H

#include "runtime/base/Status.h"

#include <memory>
#include <string_view>

namespace tandem {

/// A file that is being written, from its beginning on.
class DiskFile {
public:
  virtual ~DiskFile() = default;
  /// Appends.
  virtual Status write(const void *data, uint64_t size) = 0;
  /// Returns when what was written is on the disk.
  virtual Status sync() = 0;
};

class Disk {
public:
  virtual ~Disk() = default;
  /// An empty file, in the place of one that is there.
  virtual Result<std::unique_ptr<DiskFile>> create(const std::string &path) = 0;
  /// A folder in one that is there; OK where it is there already.
  virtual Status makeFolder(const std::string &path) = 0;
  /// Returns when the names in the folder are on the disk.
  virtual Status syncFolder(const std::string &path) = 0;
  /// `to` is not there, or is an empty folder.
  virtual Status rename(const std::string &from, const std::string &to) = 0;
  /// Removes a file or a folder with all in it; OK where it is not there.
  virtual Status remove(const std::string &path) = 0;
};

/// The machine's. Messages name path and cause.
Disk &realDisk();

/// The folder that holds `path`.
std::string parentFolder(const std::string &path);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_DISK_H

//===- WatchedDisk.h - A disk and whether it answers ------------*- C++ -*-===//
//
// A disk that hangs keeps whoever asked it. So each operation is noted before
// it begins, and another thread may ask how long the present one has lasted.
// Tests plant their faults (FaultPoint.h) before operations too.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_WATCHEDDISK_H
#define TANDEM_RUNTIME_SESSION_WATCHEDDISK_H

#include "runtime/exec/FaultPoint.h"
#include "runtime/files/Disk.h"

#include <chrono>
#include <mutex>

namespace tandem {

/// One thread at a time writes; any may call `answers`.
class WatchedDisk final : public Disk {
public:
  /// Each operation is one of `kind` on `rank` for `fault`.
  WatchedDisk(int64_t rank, std::string kind, FaultPoint fault)
      : rank(rank), kind(std::move(kind)), fault(std::move(fault)) {}

  /// Which operation has lasted for more than `seconds`, as a failure of the
  /// rank; OK where none has. To bring a file to the disk may take longer by
  /// what its bytes take at 4 MiB a second.
  Status answers(double seconds) const;

  Result<std::unique_ptr<DiskFile>> create(const std::string &path) override;
  Status makeFolder(const std::string &path) override;
  Status syncFolder(const std::string &path) override;
  Status rename(const std::string &from, const std::string &to) override;
  Status remove(const std::string &path) override;

private:
  class File;
  /// Notes an operation as long as it lives.
  class Note;

  template <typename Operation>
  auto perform(const std::string &path, const Operation &operation,
               uint64_t bytes = 0) -> decltype(operation());

  int64_t rank;
  std::string kind;
  FaultPoint fault;
  mutable std::mutex mutex;
  std::string path; ///< Of the present operation; under mutex, as all below.
  uint64_t bytes = 0;
  std::chrono::steady_clock::time_point since;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_WATCHEDDISK_H

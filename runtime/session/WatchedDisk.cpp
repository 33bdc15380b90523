#include "runtime/session/WatchedDisk.h"

#include <cstdio>

namespace tandem {

class WatchedDisk::Note {
public:
  Note(WatchedDisk &disk, const std::string &path, uint64_t bytes)
      : disk(disk) {
    std::lock_guard<std::mutex> lock(disk.mutex);
    disk.path = path;
    disk.bytes = bytes;
    disk.since = std::chrono::steady_clock::now();
  }
  ~Note() {
    std::lock_guard<std::mutex> lock(disk.mutex);
    disk.path.clear();
  }

private:
  WatchedDisk &disk;
};

template <typename Operation>
auto WatchedDisk::perform(const std::string &path, const Operation &operation,
                          uint64_t bytes) -> decltype(operation()) {
  Note note(*this, path, bytes);
  if (Status planted = fault.reach(rank, kind); !planted.ok())
    return Status::refused("'" + path + "': " + planted.message());
  return operation();
}

class WatchedDisk::File final : public DiskFile {
public:
  File(WatchedDisk &disk, std::string path, std::unique_ptr<DiskFile> inner)
      : disk(disk), path(std::move(path)), inner(std::move(inner)) {}

  Status write(const void *data, uint64_t size) override {
    unsynced += size;
    return disk.perform(path, [&] { return inner->write(data, size); });
  }
  Status sync() override {
    return disk.perform(
        path, [&] { return inner->sync(); }, std::exchange(unsynced, 0));
  }

private:
  WatchedDisk &disk;
  std::string path;
  std::unique_ptr<DiskFile> inner;
  uint64_t unsynced = 0;
};

Status WatchedDisk::answers(double seconds) const {
  constexpr double slowest = 4 << 20; // bytes a second
  std::lock_guard<std::mutex> lock(mutex);
  std::chrono::duration<double> lasted =
      std::chrono::steady_clock::now() - since;
  double limit = seconds + static_cast<double>(bytes) / slowest;
  if (path.empty() || lasted.count() <= limit)
    return Status();
  char text[120];
  std::snprintf(text, sizeof text,
                "the disk does not answer: one operation of a checkpoint has "
                "taken %.1f s (--deadline %g)",
                lasted.count(), seconds);
  Status status = Status::rankFailed(text);
  status.rank = rank;
  status.instruction = "checkpoint";
  status.location = path;
  return status;
}

Result<std::unique_ptr<DiskFile>> WatchedDisk::create(const std::string &path) {
  return perform(path, [&]() -> Result<std::unique_ptr<DiskFile>> {
    TANDEM_ASSIGN(std::unique_ptr<DiskFile> file, realDisk().create(path));
    return std::unique_ptr<DiskFile>(
        std::make_unique<File>(*this, path, std::move(file)));
  });
}

Status WatchedDisk::makeFolder(const std::string &path) {
  return perform(path, [&] { return realDisk().makeFolder(path); });
}

Status WatchedDisk::syncFolder(const std::string &path) {
  return perform(path, [&] { return realDisk().syncFolder(path); });
}

Status WatchedDisk::rename(const std::string &from, const std::string &to) {
  return perform(to, [&] { return realDisk().rename(from, to); });
}

Status WatchedDisk::remove(const std::string &path) {
  return perform(path, [&] { return realDisk().remove(path); });
}

} // namespace tandem

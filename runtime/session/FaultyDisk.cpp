#include "runtime/session/FaultyDisk.h"

namespace tandem {
namespace {

/// The machine's disk with a planted fault.
class FaultyDisk final : public Disk {
public:
  FaultyDisk(int64_t rank, std::string kind, FaultPoint fault)
      : rank(rank), kind(std::move(kind)), fault(std::move(fault)) {}

  Result<std::unique_ptr<DiskFile>> create(const std::string &path) override {
    TANDEM_TRY(reach());
    TANDEM_ASSIGN(std::unique_ptr<DiskFile> file, realDisk().create(path));
    return std::unique_ptr<DiskFile>(
        std::make_unique<File>(*this, std::move(file)));
  }
  Status makeFolder(const std::string &path) override {
    TANDEM_TRY(reach());
    return realDisk().makeFolder(path);
  }
  Status syncFolder(const std::string &path) override {
    TANDEM_TRY(reach());
    return realDisk().syncFolder(path);
  }
  Status rename(const std::string &from, const std::string &to) override {
    TANDEM_TRY(reach());
    return realDisk().rename(from, to);
  }
  Status remove(const std::string &path) override {
    TANDEM_TRY(reach());
    return realDisk().remove(path);
  }

private:
  class File final : public DiskFile {
  public:
    File(FaultyDisk &disk, std::unique_ptr<DiskFile> inner)
        : disk(disk), inner(std::move(inner)) {}
    Status write(const void *data, uint64_t size) override {
      TANDEM_TRY(disk.reach());
      return inner->write(data, size);
    }
    Status sync() override {
      TANDEM_TRY(disk.reach());
      return inner->sync();
    }

  private:
    FaultyDisk &disk;
    std::unique_ptr<DiskFile> inner;
  };

  Status reach() { return fault.reach(rank, kind); }

  int64_t rank;
  std::string kind;
  FaultPoint fault;
};

} // namespace

std::unique_ptr<Disk> faultyDisk(int64_t rank, const std::string &kind,
                                 const FaultPoint &fault) {
  return std::make_unique<FaultyDisk>(rank, kind, fault);
}

} // namespace tandem

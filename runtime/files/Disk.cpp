#include "runtime/files/Disk.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace tandem {
namespace {

Status failed(const char *what, const std::string &path, int error) {
  return Status::refused(std::string("cannot ") + what + " '" + path +
                         "': " + std::strerror(error));
}

/// A descriptor that closes itself.
class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }
  int number() const { return number_; }

private:
  int number_;
};

class RealFile final : public DiskFile {
public:
  RealFile(std::string path, int number)
      : path(std::move(path)), file(number) {}

  Status write(const void *data, uint64_t size) override {
    const char *bytes = static_cast<const char *>(data);
    while (size != 0) {
      ssize_t written = ::write(file.number(), bytes, size);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return failed("write", path, errno);
      bytes += written;
      size -= static_cast<uint64_t>(written);
    }
    return Status();
  }

  Status sync() override {
    return ::fsync(file.number()) == 0 ? Status()
                                       : failed("write", path, errno);
  }

private:
  std::string path;
  Descriptor file;
};

class RealDisk final : public Disk {
public:
  Result<std::unique_ptr<DiskFile>> create(const std::string &path) override {
    int number =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (number < 0)
      return failed("write", path, errno);
    return std::unique_ptr<DiskFile>(std::make_unique<RealFile>(path, number));
  }

  Status makeFolder(const std::string &path) override {
    if (::mkdir(path.c_str(), 0777) == 0)
      return Status();
    int error = errno;
    struct stat about;
    bool folder = error == EEXIST && ::stat(path.c_str(), &about) == 0 &&
                  S_ISDIR(about.st_mode);
    return folder ? Status() : failed("make the folder", path, error);
  }

  Status syncFolder(const std::string &path) override {
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some file systems have no such call for folders; they say EINVAL.
    if (folder.number() >= 0 &&
        (::fsync(folder.number()) == 0 || errno == EINVAL))
      return Status();
    return failed("write the folder", path, errno);
  }

  Status rename(const std::string &from, const std::string &to) override {
    if (::rename(from.c_str(), to.c_str()) == 0)
      return Status();
    return failed("rename", from, errno).withContext(to);
  }

  Status remove(const std::string &path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    return error ? failed("remove", path, error.value()) : Status();
  }
};

} // namespace

Disk &realDisk() {
  static RealDisk disk;
  return disk;
}

std::string parentFolder(const std::string &path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

} // namespace tandem

#include "runtime/files/NewFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tandem {
namespace {

/// `path` with links followed where it exists, else as it is.
std::string resolved(const std::string &path) {
  char *real = ::realpath(path.c_str(), nullptr);
  std::string result = real ? real : path;
  std::free(real);
  return result;
}

/// Brings the entries of the folder that holds `path` to the disk.
bool syncFolderOf(const std::string &path) {
  size_t slash = path.find_last_of('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return false;
  // Some file systems have no such call for folders; they say EINVAL.
  bool synced = ::fsync(fd) == 0 || errno == EINVAL;
  ::close(fd);
  return synced;
}

} // namespace

Status NewFile::failed(const char *what) const {
  return Status::refused(std::string("cannot ") + what + " '" + path_ +
                         "': " + std::strerror(errno));
}

Result<NewFile> NewFile::create(const std::string &path) {
  NewFile file;
  file.path_ = path;
  file.target_ = resolved(path);
  struct stat about;
  bool there = ::stat(file.target_.c_str(), &about) == 0;
  if (there && S_ISDIR(about.st_mode))
    return Status::refused("cannot write '" + path + "': it is a folder");
  if (there && !S_ISREG(about.st_mode)) {
    file.fd_ = ::open(file.target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    file.temporary_ = file.target_ + "." + std::to_string(::getpid()) + ".tmp";
    file.fd_ = ::open(file.temporary_.c_str(),
                      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (file.fd_ < 0) {
    file.temporary_.clear();
    return file.failed("write");
  }
  return file;
}

NewFile::NewFile(NewFile &&other) noexcept
    : path_(std::move(other.path_)), target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, "")),
      fd_(std::exchange(other.fd_, -1)) {}

NewFile &NewFile::operator=(NewFile &&other) noexcept {
  if (this == &other)
    return *this;
  abandon();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  temporary_ = std::exchange(other.temporary_, "");
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

NewFile::~NewFile() { abandon(); }

void NewFile::abandon() {
  if (fd_ >= 0)
    ::close(std::exchange(fd_, -1));
  if (!temporary_.empty())
    ::unlink(temporary_.c_str());
  temporary_.clear();
}

Status NewFile::write(const void *data, uint64_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = ::write(fd_, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failed("write");
    bytes += written;
    size -= static_cast<uint64_t>(written);
  }
  return Status();
}

Status NewFile::writeAt(uint64_t offset, const void *data, uint64_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = ::pwrite(fd_, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failed("write");
    bytes += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<uint64_t>(written);
  }
  return Status();
}

Status NewFile::commit() {
  bool direct = temporary_.empty();
  if (!direct && ::fsync(fd_) != 0)
    return failed("write");
  if (::close(std::exchange(fd_, -1)) != 0)
    return failed("write");
  if (direct)
    return Status();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0)
    return failed("write");
  temporary_.clear();
  return syncFolderOf(target_) ? Status() : failed("write");
}

} // namespace tandem

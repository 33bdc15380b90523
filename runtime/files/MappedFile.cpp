#include "runtime/files/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tandem {
namespace {

Status cannot(const char *what, const std::string &path) {
  return Status::refused(std::string("cannot ") + what + " '" + path +
                         "': " + std::strerror(errno));
}

/// A file descriptor that is closed at the end of the scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

} // namespace

Result<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0)
    return cannot("open", path);
  struct stat about;
  if (::fstat(file.fd, &about) != 0)
    return cannot("examine", path);
  if (!S_ISREG(about.st_mode))
    return Status::refused(
        "cannot read '" + path + "': it is " +
        (S_ISDIR(about.st_mode) ? "a folder" : "not a regular file"));
  uint64_t size = static_cast<uint64_t>(about.st_size);
  const std::byte *data = nullptr;
  if (size != 0) {
    void *memory =
        ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, /*offset=*/0);
    if (memory == MAP_FAILED)
      return cannot("map", path);
    data = static_cast<const std::byte *>(memory);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(const_cast<std::byte *>(data_), size_);
}

} // namespace tandem

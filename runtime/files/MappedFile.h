//===- MappedFile.h - A file read through memory ----------------*- C++ -*-===//
//
// A regular file mapped read-only for as long as the object lives. Pages are
// read when touched, so that opening a model of many gigabytes costs nothing
// and a rank that reads a slice brings in that slice only.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_MAPPEDFILE_H
#define TANDEM_RUNTIME_FILES_MAPPEDFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

class MappedFile {
public:
  /// Maps the whole of the regular file `path`. Refuses what cannot be opened
  /// and what is no regular file.
  static Result<std::shared_ptr<const MappedFile>>
  open(const std::string &path);

  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// The path as it was given to `open`.
  const std::string &path() const { return path_; }
  uint64_t size() const { return size_; }
  /// The first byte; null where the file is empty. A file that is cut while
  /// it is mapped raises SIGBUS when a page that is gone is touched.
  const std::byte *data() const { return data_; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(data_), size_};
  }

private:
  MappedFile(std::string path, const std::byte *data, uint64_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::string path_;
  const std::byte *data_;
  uint64_t size_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_MAPPEDFILE_H

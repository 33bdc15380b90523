//===- NewFile.h - Files that appear only when complete ---------*- C++ -*-===//
//
// Whoever looks at a path that Tandem writes sees the old file or the whole
// new one, never part of it, whatever ends the process. The bytes go to
// NAME.PID.tmp beside it, which takes the name once it is on the disk.
//
//   TANDEM_ASSIGN(NewFile file, NewFile::create("out.safetensors"));
//   TANDEM_TRY(file.write(data, size));
//   TANDEM_TRY(file.commit());
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_NEWFILE_H
#define TANDEM_RUNTIME_FILES_NEWFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <string_view>

namespace tandem {

class NewFile {
public:
  /// Begins the file `path`. What exists there and is no regular file (a
  /// terminal, a pipe, /dev/null) is written to directly. Messages name
  /// `path`.
  static Result<NewFile> create(const std::string &path);

  NewFile(NewFile &&other) noexcept;
  NewFile &operator=(NewFile &&other) noexcept;
  /// Removes what was written, unless it was committed.
  ~NewFile();

  /// Appends.
  Status write(const void *data, uint64_t size);
  Status write(std::string_view text) {
    return write(text.data(), text.size());
  }
  /// Writes at a place of the file, which need not have been reached yet.
  Status writeAt(uint64_t offset, const void *data, uint64_t size);
  /// Brings the bytes and then the name to the disk.
  Status commit();

private:
  NewFile() = default;
  Status failed(const char *what) const;
  void abandon();

  std::string path_;      ///< As the caller gave it.
  std::string target_;    ///< The same with links followed.
  std::string temporary_; ///< Empty where the target is written directly.
  int fd_ = -1;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_NEWFILE_H

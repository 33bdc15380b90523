//===- TensorStore.h - Named stored tensors of any format -------*- C++ -*-===//
//
// What every weight format comes down to: files that stay mapped, and in them
// named tensors, each a contiguous row-major range of one file.
//
//   TANDEM_ASSIGN(TensorStore store, readSafetensors("model"));
//   if (const StoredTensor *w = store.find("model.norm.weight"))
//     TANDEM_TRY(readElements(*w, 0, w->elements(), DType::F32, out));
//
// A store is complete once it has been sealed: names are unique and UTF-8,
// ranges lie in their files and do not overlap. So whoever holds a store may
// read any tensor in it without further checks. Copies share the mappings.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TENSORSTORE_H
#define TANDEM_RUNTIME_FILES_TENSORSTORE_H

#include "runtime/base/DType.h"
#include "runtime/files/Fingerprint.h"
#include "runtime/files/MappedFile.h"

#include <vector>

namespace tandem {

/// One tensor as a file holds it.
struct StoredTensor {
  std::string name;
  DType dtype = DType::F32;
  /// Row-major, outermost first, in every format (GGUF's are turned round).
  /// Empty for a scalar.
  std::vector<int64_t> shape;
  int fileIndex = 0;
  uint64_t offset = 0; ///< From the start of the file, in bytes.
  uint64_t bytes = 0;
  /// Its first byte; aligned as the file has it, perhaps not at all.
  const std::byte *data = nullptr;

  uint64_t elements() const;
};

/// A file that holds tensors.
struct StoredFile {
  std::string path; ///< As it was opened.
  std::string name; ///< Its last component.
  Fingerprint fingerprint;
};

/// `[2, 3]`, as messages show shapes.
std::string shapeToString(const std::vector<int64_t> &shape);

class TensorStore {
public:
  /// Adds a file and returns its index.
  int addFile(std::shared_ptr<const MappedFile> file);
  /// Adds a tensor of the file `tensor.fileIndex`; fills in bytes and data.
  /// Refuses what no file may hold: a name that is no UTF-8 or empty, a
  /// negative or absurd shape, blocks cut in two, a range past the end.
  Status add(StoredTensor tensor);
  /// Refuses two tensors of one name and ranges that overlap; afterwards
  /// `tensors` is in name order and `find` works.
  Status seal();

  /// In order of name (bytes compared).
  const std::vector<StoredTensor> &tensors() const { return tensors_; }
  const std::vector<StoredFile> &files() const { return files_; }
  bool empty() const { return tensors_.empty(); }
  /// The tensor of that name, null where there is none. It lives as long as
  /// the store is not changed.
  const StoredTensor *find(std::string_view name) const;
  const MappedFile &mapping(int fileIndex) const {
    return *mappings_[static_cast<size_t>(fileIndex)];
  }
  /// Of all tensors together.
  uint64_t totalBytes() const;

private:
  Status refuseOverlaps() const;

  std::vector<std::shared_ptr<const MappedFile>> mappings_;
  std::vector<StoredFile> files_;
  std::vector<StoredTensor> tensors_;
};

/// The product of `shape`, nothing where a size is negative or the product
/// reaches 2^62.
std::optional<uint64_t> elementCount(const std::vector<int64_t> &shape);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TENSORSTORE_H

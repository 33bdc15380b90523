//===- Checkpoint.h - A checkpoint on the disk, to be read ------*- C++ -*-===//
//
//   TANDEM_ASSIGN(auto checkpoint, Checkpoint::open("out/step-20"));
//   TANDEM_TRY(checkpoint->checkAll());
//   TANDEM_TRY(checkpoint->read(*checkpoint->manifest().find("w"), box, out));
//
// Opening reads the manifest and looks whether all files are there in their
// sizes; that the bytes are those that were written is what `check` says.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CHECKPOINT_CHECKPOINT_H
#define TANDEM_RUNTIME_FILES_CHECKPOINT_CHECKPOINT_H

#include "runtime/files/TensorStore.h"
#include "runtime/files/checkpoint/Manifest.h"

#include <map>
#include <mutex>

namespace tandem {

class Checkpoint {
public:
  static Result<std::shared_ptr<const Checkpoint>>
  open(const std::string &path);

  const std::string &path() const { return path_; }
  const CheckpointManifest &manifest() const { return manifest_; }

  /// Reads shard `index` whole and refuses it where a byte is another than
  /// was written, naming file and tensor.
  Status check(size_t index) const;
  Status checkAll() const;

  /// Writes the elements of `box` of `tensor` to `out` as `to`, element
  /// [i, j, ...] of the box at i * strides[0] + j * strides[1] + ...
  Status read(const CheckpointTensor &tensor, const Box &box, DType to,
              std::byte *out, const std::vector<int64_t> &strides) const;

private:
  struct Place {
    size_t shard;
    const CheckpointPiece *piece;
  };

  Checkpoint() = default;
  Status checkFiles() const;
  std::string pathOf(const CheckpointShard &shard) const {
    return path_ + "/" + shard.file;
  }
  Result<const TensorStore *> store(size_t shard) const;

  std::string path_;
  CheckpointManifest manifest_;
  std::map<std::string, std::vector<Place>> places;
  mutable std::mutex mutex;
  mutable std::map<size_t, TensorStore> stores; ///< Under mutex.
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CHECKPOINT_CHECKPOINT_H

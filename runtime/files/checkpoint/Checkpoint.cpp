#include "runtime/files/checkpoint/Checkpoint.h"

#include "runtime/files/Checksum.h"
#include "runtime/files/ReadView.h"
#include "runtime/files/Safetensors.h"

#include <cstring>
#include <filesystem>

namespace tandem {
namespace {

Status changed(const std::string &what, uint64_t found, uint64_t told) {
  return Status::refused(what + ": its checksum is " + checksumText(found) +
                         ", the manifest says " + checksumText(told) +
                         "; its bytes changed after they were written");
}

/// All before the first tensor's bytes.
Status checkHeader(const MappedFile &file, const CheckpointShard &shard) {
  uint64_t size = 0;
  if (file.size() >= sizeof size)
    std::memcpy(&size, file.data(), sizeof size);
  // A size that cannot be is one that was changed.
  size = std::min(size, file.size() - std::min<uint64_t>(8, file.size()));
  uint64_t found = checksumOf(file.data(), std::min(size + 8, file.size()));
  return found == shard.headerChecksum
             ? Status()
             : changed(file.path() + ": header", found, shard.headerChecksum);
}

Status checkPiece(const CheckpointManifest &manifest,
                  const CheckpointPiece &piece, const StoredTensor *stored) {
  const CheckpointTensor &tensor = *manifest.find(piece.tensor);
  if (!stored || stored->dtype != tensor.dtype ||
      stored->shape != piece.box.shape)
    return Status::refused("tensor '" + piece.tensor + "': expected " +
                           std::string(name(tensor.dtype)) +
                           shapeToString(piece.box.shape) + ", got " +
                           (stored ? std::string(name(stored->dtype)) +
                                         shapeToString(stored->shape)
                                   : "none"));
  uint64_t found = checksumOf(stored->data, stored->bytes);
  return found == piece.checksum
             ? Status()
             : changed("tensor '" + piece.tensor + "'", found, piece.checksum);
}

} // namespace

Result<std::shared_ptr<const Checkpoint>>
Checkpoint::open(const std::string &path) {
  std::shared_ptr<Checkpoint> made(new Checkpoint);
  made->path_ = path;
  TANDEM_ASSIGN(made->manifest_, CheckpointManifest::read(path));
  TANDEM_TRY(made->checkFiles());
  const std::vector<CheckpointShard> &shards = made->manifest_.shards;
  for (size_t i = 0; i < shards.size(); ++i)
    for (const CheckpointPiece &piece : shards[i].pieces)
      made->places[piece.tensor].push_back({i, &piece});
  return std::shared_ptr<const Checkpoint>(std::move(made));
}

Status Checkpoint::checkFiles() const {
  for (const CheckpointShard &shard : manifest_.shards) {
    std::error_code error;
    uint64_t bytes = std::filesystem::file_size(pathOf(shard), error);
    if (error)
      return Status::refused("'" + pathOf(shard) +
                             "' is missing or cannot be "
                             "read: " +
                             error.message());
    if (bytes != shard.bytes)
      return Status::refused("'" + pathOf(shard) + "' has " +
                             std::to_string(bytes) + " bytes, expected " +
                             std::to_string(shard.bytes));
  }
  return Status();
}

Result<const TensorStore *> Checkpoint::store(size_t shard) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = stores.find(shard);
  if (it == stores.end()) {
    TANDEM_ASSIGN(TensorStore store,
                  readSafetensors(pathOf(manifest_.shards[shard])));
    it = stores.emplace(shard, std::move(store)).first;
  }
  return &it->second;
}

Status Checkpoint::check(size_t index) const {
  const CheckpointShard &shard = manifest_.shards[index];
  TANDEM_ASSIGN(auto file, MappedFile::open(pathOf(shard)));
  TANDEM_TRY(checkHeader(*file, shard));
  TANDEM_ASSIGN(const TensorStore *tensors, store(index));
  if (tensors->tensors().size() != shard.pieces.size())
    return Status::refused(file->path() + ": it holds " +
                           std::to_string(tensors->tensors().size()) +
                           " tensors, expected " +
                           std::to_string(shard.pieces.size()));
  for (const CheckpointPiece &piece : shard.pieces)
    TANDEM_TRY(checkPiece(manifest_, piece, tensors->find(piece.tensor))
                   .withContext(file->path()));
  return Status();
}

Status Checkpoint::checkAll() const {
  for (size_t i = 0; i < manifest_.shards.size(); ++i)
    TANDEM_TRY(check(i));
  return Status();
}

Status Checkpoint::read(const CheckpointTensor &tensor, const Box &box,
                        DType to, std::byte *out,
                        const std::vector<int64_t> &strides) const {
  auto it = places.find(tensor.name);
  if (it == places.end())
    return Status();
  for (const Place &place : it->second) {
    const Box &held = place.piece->box;
    std::optional<Box> part = intersection(held, box);
    if (!part)
      continue;
    TANDEM_ASSIGN(const TensorStore *tensors, store(place.shard));
    const StoredTensor *stored = tensors->find(tensor.name);
    if (!stored || stored->shape != held.shape)
      return Status::refused(pathOf(manifest_.shards[place.shard]) +
                             ": tensor '" + tensor.name +
                             "' is not as the manifest says");
    StridedView view = wholeView(*stored);
    int64_t target = 0;
    for (size_t d = 0; d < held.shape.size(); ++d) {
      view.offset += static_cast<uint64_t>((part->begin[d] - held.begin[d]) *
                                           view.strides[d]);
      target += (part->begin[d] - box.begin[d]) * strides[d];
    }
    view.sizes = part->shape;
    TANDEM_TRY(
        readView(*stored, view, to, out + target * blockBytes(to), strides));
  }
  return Status();
}

} // namespace tandem

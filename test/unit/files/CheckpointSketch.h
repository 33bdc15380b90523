//===- CheckpointSketch.h - Checkpoints written by tests --------*- C++ -*-===//
//
// Small checkpoints of float32 tensors, written through any Disk, whose
// elements follow from step, tensor and place.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_FILES_CHECKPOINTSKETCH_H
#define TANDEM_TEST_UNIT_FILES_CHECKPOINTSKETCH_H

#include "runtime/files/Checksum.h"
#include "runtime/files/Disk.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/files/checkpoint/Manifest.h"

namespace tandem::test {

/// A piece of a tensor and its elements.
struct SketchPiece {
  std::string tensor;
  Box box;
  std::vector<float> elements;
};

/// Writes one shard and says what it holds.
inline Result<CheckpointShard>
writeShard(Disk &disk, const std::string &folder, const std::string &file,
           const std::vector<SketchPiece> &pieces) {
  std::vector<TensorHeader> headers;
  for (const SketchPiece &piece : pieces)
    headers.push_back({piece.tensor, DType::F32, piece.box.shape});
  TANDEM_ASSIGN(SafetensorsLayout layout, layOutSafetensors(headers));
  std::string bytes = layout.head;
  bytes.resize(layout.bytes);
  CheckpointShard shard;
  shard.file = file;
  shard.bytes = layout.bytes;
  shard.headerChecksum = checksumOf(layout.head);
  for (const SketchPiece &piece : pieces) {
    auto place = layout.places[piece.tensor];
    bytes.replace(place.offset, place.size,
                  reinterpret_cast<const char *>(piece.elements.data()),
                  place.size);
    shard.pieces.push_back(
        {piece.tensor, piece.box,
         checksumOf(std::string_view(bytes).substr(place.offset, place.size))});
  }
  TANDEM_ASSIGN(auto out, disk.create(folder + "/" + file));
  TANDEM_TRY(out->write(bytes.data(), bytes.size()));
  TANDEM_TRY(out->sync());
  return shard;
}

/// The manifest of tensors `w` [4, 2] and `s` [3], without shards.
inline CheckpointManifest sketchManifest(int64_t step) {
  CheckpointManifest manifest;
  manifest.step = step;
  manifest.producer = "test";
  manifest.mesh = "tp=2";
  manifest.model = "nowhere";
  manifest.training = {{"position", 7 * step}};
  manifest.tensors = {{"w",
                       DType::F32,
                       {4, 2},
                       StoredPlace{"w", DType::F32, {4, 2}, 0, {2, 1}}},
                      {"s", DType::F32, {3}, std::nullopt}};
  return manifest;
}

/// Two shards: `w` by rows, `s` whole in the first.
inline Result<std::vector<CheckpointShard>>
writeShards(Disk &disk, const std::string &folder, int64_t step) {
  auto first = static_cast<float>(step);
  std::vector<CheckpointShard> shards;
  TANDEM_ASSIGN(CheckpointShard shard,
                writeShard(disk, folder, "rank-0.safetensors",
                           {{"w", {{0, 0}, {2, 2}}, {first, 1, 2, 3}},
                            {"s", {{0}, {3}}, {first, first + 1, first + 2}}}));
  shards.push_back(shard);
  TANDEM_ASSIGN(shard, writeShard(disk, folder, "rank-1.safetensors",
                                  {{"w", {{2, 0}, {2, 2}}, {4, 5, 6, 7}}}));
  shards.push_back(shard);
  return shards;
}

} // namespace tandem::test

#endif // TANDEM_TEST_UNIT_FILES_CHECKPOINTSKETCH_H

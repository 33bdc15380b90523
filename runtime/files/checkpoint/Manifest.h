//===- Manifest.h - What a checkpoint says it holds -------------*- C++ -*-===//
//
// `manifest.json`, the last file of a checkpoint to be written:
//
//   step-20/manifest.json          tensors, shards, the run
//   step-20/rank-0.safetensors     what rank 0 was the first to hold
//   step-20/rank-2.safetensors
//
// A *tensor* is a parameter or a state under its name, of global shape; a
// parameter says of which stored tensor it is a view. A *piece* is the box of
// a tensor that one shard holds, under the tensor's name; the pieces of a
// tensor tile it. So whoever knows a tensor's name and a box finds its
// elements, whatever layout wrote them.
//
// Checksums (Checksum.h) cover every byte: of each piece, of each shard's
// header, and of the manifest itself, whose last line is that of all bytes
// before it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CHECKPOINT_MANIFEST_H
#define TANDEM_RUNTIME_FILES_CHECKPOINT_MANIFEST_H

#include "runtime/base/DType.h"
#include "runtime/files/Fingerprint.h"
#include "runtime/files/checkpoint/Box.h"

#include <nlohmann/json.hpp>

namespace tandem {

class ConfigNode;

/// Of which stored tensor a parameter is a view (ReadView.h).
struct StoredPlace {
  std::string key;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  std::vector<int64_t> strides;

  bool operator==(const StoredPlace &other) const;
};

struct CheckpointTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;        ///< Global.
  std::optional<StoredPlace> stored; ///< Of a parameter.
};

struct CheckpointPiece {
  std::string tensor;
  Box box;
  uint64_t checksum = 0;
};

struct CheckpointShard {
  std::string file; ///< Within the checkpoint's folder.
  uint64_t bytes = 0;
  uint64_t headerChecksum = 0; ///< Of all before the first tensor.
  std::vector<CheckpointPiece> pieces;
};

/// A file that the model came from.
struct CheckpointSource {
  std::string path;
  Fingerprint fingerprint;
};

struct CheckpointManifest {
  static constexpr int64_t kVersion = 1;
  static constexpr const char *kFile = "manifest.json";

  int64_t step = 0;
  std::string producer;          ///< Of the plan.
  std::string mesh;              ///< The layout that wrote it.
  std::string model;             ///< The model's path.
  nlohmann::ordered_json config; ///< The model's config.json, null without.
  std::vector<CheckpointSource> sources, tokenizer;
  nlohmann::ordered_json training = nlohmann::ordered_json::object();
  std::vector<CheckpointTensor> tensors;
  std::vector<CheckpointShard> shards;

  const CheckpointTensor *find(std::string_view name) const;
  /// The file's text; the same for the same manifest.
  std::string toText() const;
  /// Reads the manifest of the checkpoint at `folder`. Refuses one that is
  /// not whole, of another version, or whose pieces do not tile its tensors.
  static Result<CheckpointManifest> read(const std::string &folder);
};

// The same for a shard alone, as ranks tell it to the one that leads.
nlohmann::ordered_json toJson(const CheckpointShard &shard);
Result<CheckpointShard> readShard(const ConfigNode &node);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CHECKPOINT_MANIFEST_H

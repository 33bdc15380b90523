#include "runtime/files/checkpoint/Manifest.h"

#include "runtime/files/Checksum.h"
#include "runtime/files/ConfigNode.h"
#include "runtime/files/Safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace tandem {
namespace {

using nlohmann::ordered_json;

constexpr const char *kFormat = "tandem-checkpoint";
constexpr std::string_view kSeal = ",\n \"checksum\": \"";
constexpr std::string_view kSealEnd = "\"\n}\n";

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

ordered_json toJson(const CheckpointSource &source) {
  return {{"path", source.path},
          {"bytes", source.fingerprint.size},
          {"hash", checksumText(source.fingerprint.hash)}};
}

ordered_json toJson(const CheckpointTensor &tensor) {
  ordered_json json = {{"name", tensor.name},
                       {"dtype", name(tensor.dtype)},
                       {"shape", tensor.shape}};
  if (const auto &stored = tensor.stored)
    json["stored"] = {{"key", stored->key},
                      {"dtype", name(stored->dtype)},
                      {"shape", stored->shape},
                      {"offset", stored->offset},
                      {"strides", stored->strides}};
  return json;
}

template <typename Row> ordered_json toJson(const std::vector<Row> &rows) {
  ordered_json list = ordered_json::array();
  for (const Row &row : rows)
    list.push_back(toJson(row));
  return list;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The manifest's text, whose checksum is right.
Result<std::string> readSealed(const std::string &path) {
  TANDEM_ASSIGN(auto file, MappedFile::open(path));
  std::string_view text = file->text();
  size_t sealBytes = kSeal.size() + 16 + kSealEnd.size();
  if (text.size() < sealBytes ||
      text.substr(text.size() - sealBytes, kSeal.size()) != kSeal ||
      text.substr(text.size() - kSealEnd.size()) != kSealEnd)
    return Status::refused(path + ": it does not end with its checksum; it "
                                  "was cut short or changed");
  std::string_view body = text.substr(0, text.size() - sealBytes);
  std::string_view told = text.substr(body.size() + kSeal.size(), 16);
  std::string found = checksumText(checksumOf(body));
  if (found != told)
    return Status::refused(path + ": its checksum is " + found +
                           ", but it ends with " + std::string(told) +
                           "; it was changed after it was written");
  return std::string(body) + "}";
}

Result<uint64_t> readChecksum(const ConfigNode &node, const char *key) {
  TANDEM_ASSIGN(std::string text, node.string(key));
  char *end = nullptr;
  uint64_t value = std::strtoull(text.c_str(), &end, 16);
  if (text.size() != 16 || *end != 0)
    return node.error("expected 16 hexadecimal digits, got '" + text + "'");
  return value;
}

Result<DType> readDType(const ConfigNode &node) {
  TANDEM_ASSIGN(std::string text, node.string("dtype"));
  if (std::optional<DType> dtype = parseDType(text))
    return *dtype;
  return node.error("'" + text + "' is no element type");
}

Result<std::vector<int64_t>> readIntegers(const ConfigNode &node,
                                          const char *key) {
  TANDEM_ASSIGN(ConfigNode list, node.at(key));
  return list.asIntegers();
}

/// A shape whose bytes can be counted.
Result<std::vector<int64_t>> readShape(const ConfigNode &node) {
  TANDEM_ASSIGN(std::vector<int64_t> shape, readIntegers(node, "shape"));
  if (!elementCount(shape))
    return node.error("the shape " + shapeToString(shape) + " cannot be");
  return shape;
}

Result<StoredPlace> readStored(const ConfigNode &node) {
  StoredPlace stored;
  TANDEM_ASSIGN(stored.key, node.string("key"));
  TANDEM_ASSIGN(stored.dtype, readDType(node));
  TANDEM_ASSIGN(stored.shape, readShape(node));
  TANDEM_ASSIGN(int64_t offset, node.integer("offset"));
  stored.offset = static_cast<uint64_t>(offset);
  TANDEM_ASSIGN(stored.strides, readIntegers(node, "strides"));
  return stored;
}

/// Refuses a view that leaves its stored tensor.
Status checkStored(const CheckpointTensor &tensor, const ConfigNode &node) {
  const StoredPlace &stored = *tensor.stored;
  if (stored.strides.size() != tensor.shape.size())
    return node.error("expected a stride for each of the " +
                      std::to_string(tensor.shape.size()) + " dimensions");
  auto room = static_cast<unsigned __int128>(*elementCount(stored.shape));
  unsigned __int128 last = stored.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (stored.strides[i] < 0)
      return node.error("a stride is negative");
    if (tensor.shape[i] > 0)
      last += static_cast<unsigned __int128>(stored.strides[i]) *
              static_cast<unsigned __int128>(tensor.shape[i] - 1);
  }
  return last < room || *elementCount(tensor.shape) == 0
             ? Status()
             : node.error("the view leaves the stored tensor");
}

Result<CheckpointTensor> readTensor(const ConfigNode &node) {
  CheckpointTensor tensor;
  TANDEM_ASSIGN(tensor.name, node.string("name"));
  TANDEM_ASSIGN(tensor.dtype, readDType(node));
  TANDEM_ASSIGN(tensor.shape, readShape(node));
  if (std::optional<ConfigNode> stored = node.find("stored")) {
    TANDEM_ASSIGN(tensor.stored, readStored(*stored));
    TANDEM_TRY(checkStored(tensor, *stored));
  }
  return tensor;
}

Result<CheckpointPiece> readPiece(const ConfigNode &node) {
  CheckpointPiece piece;
  TANDEM_ASSIGN(piece.tensor, node.string("tensor"));
  TANDEM_ASSIGN(piece.box.begin, readIntegers(node, "begin"));
  TANDEM_ASSIGN(piece.box.shape, readShape(node));
  TANDEM_ASSIGN(piece.checksum, readChecksum(node, "checksum"));
  return piece;
}

Result<CheckpointSource> readSource(const ConfigNode &node) {
  CheckpointSource source;
  TANDEM_ASSIGN(source.path, node.string("path"));
  TANDEM_ASSIGN(int64_t bytes, node.integer("bytes"));
  source.fingerprint.size = static_cast<uint64_t>(bytes);
  TANDEM_ASSIGN(source.fingerprint.hash, readChecksum(node, "hash"));
  return source;
}

template <typename Row>
Status readList(const ConfigNode &node, const char *key,
                Result<Row> (*read)(const ConfigNode &),
                std::vector<Row> &rows) {
  TANDEM_ASSIGN(ConfigNode list, node.at(key));
  TANDEM_ASSIGN(std::vector<ConfigNode> nodes, list.asArray());
  for (const ConfigNode &each : nodes) {
    TANDEM_ASSIGN(Row row, read(each));
    rows.push_back(std::move(row));
  }
  return Status();
}

/// Each key of an object is there at most once, so that its value is a copy.
ordered_json copyOf(const ConfigNode &node, const char *key) {
  std::optional<ConfigNode> found = node.find(key);
  return found ? ordered_json(found->value()) : ordered_json();
}

Status readFields(const ConfigNode &node, CheckpointManifest &manifest) {
  TANDEM_ASSIGN(manifest.step, node.integer("step"));
  TANDEM_ASSIGN(manifest.producer, node.string("producer"));
  TANDEM_ASSIGN(manifest.mesh, node.string("mesh"));
  TANDEM_ASSIGN(manifest.model, node.string("model"));
  manifest.config = copyOf(node, "config");
  manifest.training = copyOf(node, "training");
  TANDEM_TRY(readList(node, "sources", readSource, manifest.sources));
  TANDEM_TRY(readList(node, "tokenizer", readSource, manifest.tokenizer));
  TANDEM_TRY(readList(node, "tensors", readTensor, manifest.tensors));
  return readList(node, "shards", readShard, manifest.shards);
}

Status checkFormat(const ConfigNode &node) {
  TANDEM_ASSIGN(std::string format, node.stringOr("format", ""));
  if (format != kFormat)
    return node.error("this is no checkpoint's manifest: its format is '" +
                      format + "', expected '" + kFormat + "'");
  TANDEM_ASSIGN(int64_t version, node.integer("version"));
  if (version == CheckpointManifest::kVersion)
    return Status();
  return node.error("the checkpoint is of version " + std::to_string(version) +
                    ", this program reads version " +
                    std::to_string(CheckpointManifest::kVersion) +
                    "; resume it with the program that wrote it");
}

Status checkTilings(const CheckpointManifest &manifest) {
  std::map<std::string, std::vector<Box>> boxes;
  for (const CheckpointTensor &tensor : manifest.tensors)
    if (!boxes.try_emplace(tensor.name).second)
      return Status::refused("tensor '" + tensor.name + "': it is there twice");
  for (const CheckpointShard &shard : manifest.shards)
    for (const CheckpointPiece &piece : shard.pieces) {
      auto it = boxes.find(piece.tensor);
      if (it == boxes.end())
        return Status::refused(shard.file + " holds '" + piece.tensor +
                               "', which is no tensor of the checkpoint");
      it->second.push_back(piece.box);
    }
  for (const CheckpointTensor &tensor : manifest.tensors)
    TANDEM_TRY(checkTiling(tensor.shape, boxes[tensor.name])
                   .withContext("tensor '" + tensor.name + "'"));
  return Status();
}

} // namespace

bool StoredPlace::operator==(const StoredPlace &other) const {
  return key == other.key && dtype == other.dtype && shape == other.shape &&
         offset == other.offset && strides == other.strides;
}

ordered_json toJson(const CheckpointShard &shard) {
  ordered_json pieces = ordered_json::array();
  for (const CheckpointPiece &piece : shard.pieces)
    pieces.push_back({{"tensor", piece.tensor},
                      {"begin", piece.box.begin},
                      {"shape", piece.box.shape},
                      {"checksum", checksumText(piece.checksum)}});
  return {{"file", shard.file},
          {"bytes", shard.bytes},
          {"header_checksum", checksumText(shard.headerChecksum)},
          {"pieces", std::move(pieces)}};
}

Result<CheckpointShard> readShard(const ConfigNode &node) {
  CheckpointShard shard;
  TANDEM_ASSIGN(shard.file, node.string("file"));
  if (shard.file.empty() || shard.file.find('/') != std::string::npos)
    return node.error("'" + shard.file + "' is no file name of this folder");
  TANDEM_ASSIGN(int64_t bytes, node.integer("bytes"));
  shard.bytes = static_cast<uint64_t>(bytes);
  TANDEM_ASSIGN(shard.headerChecksum, readChecksum(node, "header_checksum"));
  TANDEM_TRY(readList(node, "pieces", readPiece, shard.pieces));
  return shard;
}

const CheckpointTensor *CheckpointManifest::find(std::string_view name) const {
  auto it = std::find_if(
      tensors.begin(), tensors.end(),
      [&](const CheckpointTensor &tensor) { return tensor.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

std::string CheckpointManifest::toText() const {
  ordered_json json = {{"format", kFormat},
                       {"version", kVersion},
                       {"step", step},
                       {"producer", producer},
                       {"mesh", mesh},
                       {"model", model},
                       {"config", config},
                       {"sources", toJson(sources)},
                       {"tokenizer", toJson(tokenizer)},
                       {"training", training},
                       {"tensors", toJson(tensors)},
                       {"shards", toJson(shards)}};
  std::string text =
      json.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  text.resize(text.size() - 2); // "\n}", which the seal brings.
  std::string checksum = checksumText(checksumOf(text));
  return text + std::string(kSeal) + checksum + std::string(kSealEnd);
}

Result<CheckpointManifest> CheckpointManifest::read(const std::string &folder) {
  std::string path = folder + "/" + kFile;
  TANDEM_ASSIGN(std::string text, readSealed(path));
  TANDEM_ASSIGN(ConfigNode node, ConfigNode::parse(text, path));
  TANDEM_TRY(checkFormat(node));
  CheckpointManifest manifest;
  TANDEM_TRY(readFields(node, manifest));
  TANDEM_TRY(checkTilings(manifest).withContext(path));
  return manifest;
}

} // namespace tandem

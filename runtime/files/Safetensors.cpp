#include "runtime/files/Safetensors.h"

#include "runtime/files/ConfigNode.h"
#include "runtime/files/Json.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unistd.h>

namespace tandem {
namespace {

using nlohmann::json;
using Metadata = std::map<std::string, std::string>;

struct TypeName {
  const char *name;
  DType dtype;
};
constexpr TypeName typeNames[] = {
    {"F64", DType::F64},   {"F32", DType::F32}, {"F16", DType::F16},
    {"BF16", DType::BF16}, {"I64", DType::I64}, {"I32", DType::I32},
    {"I16", DType::I16},   {"I8", DType::I8},   {"U64", DType::U64},
    {"U32", DType::U32},   {"U16", DType::U16}, {"U8", DType::U8},
    {"BOOL", DType::Bool},
};

Result<DType> dtypeOf(const ConfigNode &entry) {
  TANDEM_ASSIGN(std::string text, entry.string("dtype"));
  std::string known;
  for (const TypeName &row : typeNames) {
    if (text == row.name)
      return row.dtype;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return entry.error("the dtype " + describeJson(text) +
                     " is not supported; supported are " + known);
}

/// A tensor as the header describes it; offsets still count from the data.
struct Entry {
  StoredTensor tensor;
  uint64_t begin, end;
};

Result<Entry> readEntry(const std::string &name, const ConfigNode &node) {
  if (!node.isObject())
    return node.error("expected an object, got " + describeJson(node.value()));
  Entry entry;
  entry.tensor.name = name;
  TANDEM_ASSIGN(entry.tensor.dtype, dtypeOf(node));
  TANDEM_ASSIGN(ConfigNode shape, node.at("shape"));
  TANDEM_ASSIGN(entry.tensor.shape, shape.asIntegers());
  TANDEM_ASSIGN(ConfigNode offsets, node.at("data_offsets"));
  TANDEM_ASSIGN(std::vector<int64_t> range, offsets.asIntegers());
  if (range.size() != 2 || range[0] < 0 || range[1] < range[0])
    return offsets.error("expected two byte offsets, begin and end, got " +
                         shapeToString(range));
  entry.begin = static_cast<uint64_t>(range[0]);
  entry.end = static_cast<uint64_t>(range[1]);
  return entry;
}

/// The header's JSON and where the data behind it starts.
struct Header {
  ConfigNode json;
  uint64_t dataStart;
};

Result<Header> readHeader(const MappedFile &file) {
  const std::string &path = file.path();
  constexpr uint64_t longest = 100'000'000;
  if (file.size() < 8)
    return Status::refused(path + ": only " + std::to_string(file.size()) +
                           " bytes; a safetensors file starts with 8 bytes "
                           "that give the size of its header");
  uint64_t size;
  std::memcpy(&size, file.data(), sizeof size);
  if (size > longest)
    return Status::refused(path + ": the header claims " +
                           std::to_string(size) + " bytes, more than the " +
                           std::to_string(longest) +
                           " that are allowed; this is no safetensors file");
  if (size > file.size() - 8)
    return Status::refused(path + ": the header claims " +
                           std::to_string(size) + " bytes, but only " +
                           std::to_string(file.size() - 8) +
                           " follow; the file is cut short");
  std::string_view text = file.text().substr(8, size);
  if (text.empty() || text[0] != '{')
    return Status::refused(path + ": the header does not start with '{'");
  TANDEM_ASSIGN(ConfigNode json, ConfigNode::parse(text, path));
  return Header{std::move(json), 8 + size};
}

Status readMetadata(const ConfigNode &node, Metadata *metadata) {
  if (!node.isObject())
    return node.error("expected an object, got " + describeJson(node.value()));
  for (const std::string &key : node.keys()) {
    TANDEM_ASSIGN(std::string value, node.string(key));
    if (metadata)
      (*metadata)[key] = std::move(value);
  }
  return Status();
}

/// Refuses bytes of the file that no tensor accounts for.
Status refuseGaps(std::vector<Entry> &entries, const MappedFile &file,
                  uint64_t dataStart) {
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t reached = 0;
  for (const Entry &entry : entries) {
    // Ranges that overlap leave gaps elsewhere; seal() names the overlap.
    if (entry.begin < reached && entry.end > entry.begin)
      return Status();
    if (entry.begin > reached)
      return Status::refused(file.path() + ": tensor '" + entry.tensor.name +
                             "': it begins at " + std::to_string(entry.begin) +
                             " of the data, but the one before it " +
                             "ends at " + std::to_string(reached));
    reached = std::max(reached, entry.end);
  }
  uint64_t there = file.size() - dataStart;
  if (reached < there)
    return Status::refused(file.path() + ": " +
                           std::to_string(there - reached) +
                           " bytes at the end belong to no tensor");
  return Status();
}

Status addFile(TensorStore &store, const std::string &path,
               Metadata *metadata) {
  TANDEM_ASSIGN(auto file, MappedFile::open(path));
  TANDEM_ASSIGN(Header header, readHeader(*file));
  int fileIndex = store.addFile(file);
  std::vector<Entry> entries;
  for (const std::string &name : header.json.keys()) {
    TANDEM_ASSIGN(ConfigNode node, header.json.at(name));
    if (name == "__metadata__") {
      TANDEM_TRY(readMetadata(node, metadata));
      continue;
    }
    TANDEM_ASSIGN(Entry entry, readEntry(name, node));
    entry.tensor.fileIndex = fileIndex;
    entry.tensor.offset = header.dataStart + entry.begin;
    TANDEM_TRY(store.add(entry.tensor));
    uint64_t bytes = entry.end - entry.begin;
    uint64_t expected = static_cast<uint64_t>(storageBytes(
        entry.tensor.dtype, static_cast<int64_t>(entry.tensor.elements())));
    if (bytes != expected)
      return node.error("data_offsets hold " + std::to_string(bytes) +
                        " bytes, but dtype and shape " +
                        shapeToString(entry.tensor.shape) + " need " +
                        std::to_string(expected));
    entries.push_back(std::move(entry));
  }
  return refuseGaps(entries, *file, header.dataStart);
}

bool exists(const std::string &path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// The names of the shards that an index lists, and which tensor is where.
Result<std::map<std::string, std::string>> readIndex(const std::string &path) {
  TANDEM_ASSIGN(ConfigNode index, ConfigNode::read(path));
  TANDEM_ASSIGN(ConfigNode weightMap, index.at("weight_map"));
  if (!weightMap.isObject())
    return weightMap.error("expected an object, got " +
                           describeJson(weightMap.value()));
  std::map<std::string, std::string> places;
  for (const std::string &name : weightMap.keys()) {
    TANDEM_ASSIGN(ConfigNode node, weightMap.at(name));
    TANDEM_ASSIGN(std::string shard, node.asString());
    if (shard.empty() || shard.find('/') != std::string::npos)
      return node.error("'" + shard + "' is no file name of this folder");
    places[name] = std::move(shard);
  }
  return places;
}

} // namespace

std::optional<std::string> safetensorsName(DType dtype) {
  for (const TypeName &row : typeNames)
    if (row.dtype == dtype)
      return row.name;
  return std::nullopt;
}

Result<TensorStore>
readSafetensors(const std::string &path,
                std::map<std::string, std::string> *metadata) {
  TensorStore store;
  TANDEM_TRY(addFile(store, path, metadata));
  TANDEM_TRY(store.seal());
  return store;
}

Result<TensorStore> readSafetensorsDirectory(const std::string &directory) {
  std::string whole = directory + "/model.safetensors";
  std::string index = whole + ".index.json";
  if (exists(whole))
    return readSafetensors(whole);
  TensorStore store;
  if (!exists(index))
    return store;
  TANDEM_ASSIGN(auto places, readIndex(index));
  std::set<std::string> shards;
  for (const auto &[name, shard] : places)
    shards.insert(shard);
  for (const std::string &shard : shards)
    TANDEM_TRY(
        addFile(store, directory + "/" + shard, nullptr).withContext(index));
  TANDEM_TRY(store.seal());
  for (const auto &[name, shard] : places) {
    const StoredTensor *tensor = store.find(name);
    if (!tensor || store.files()[tensor->fileIndex].name != shard)
      return Status::refused(index + ": tensor '" + name + "' should be in '" +
                             shard + "', which does not hold it");
  }
  return store;
}

} // namespace tandem

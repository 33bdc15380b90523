#include "runtime/files/Gguf.h"

#include "runtime/files/ByteCursor.h"
#include "runtime/files/GgufTypes.h"
#include "runtime/files/Json.h"
#include "runtime/files/Utf8.h"

#include <cstdio>

namespace tandem {
namespace {

using nlohmann::json;

/// One file on its way in: where the cursor stands and what was read so far.
class GgufReader {
public:
  explicit GgufReader(std::shared_ptr<const MappedFile> file)
      : file_(std::move(file)), cursor_(file_->text()) {}

  Status readHeader();
  Status readMetadata();
  Status readTensors(TensorStore &store);

  const json &metadata() const { return metadata_; }
  uint64_t tensorCount() const { return tensorCount_; }

private:
  Status bad(const std::string &what) const {
    return Status::refused(file_->path() + ": " + what);
  }
  Status cut(const std::string &where) const {
    return bad("the file ends within " + where + ", at byte " +
               std::to_string(file_->size()));
  }
  Result<std::string> readString(const std::string &where);
  Result<json> readValue(GgufValueType type, const std::string &where,
                         int depth);
  Result<json> readArray(const std::string &where, int depth);
  Result<StoredTensor> readTensorInfo(uint64_t number);
  Result<uint64_t> alignment() const;

  std::shared_ptr<const MappedFile> file_;
  ByteCursor cursor_;
  uint64_t tensorCount_ = 0, valueCount_ = 0;
  json metadata_ = json::object();
};

Status GgufReader::readHeader() {
  std::string_view magic = cursor_.take(4);
  if (magic != "GGUF")
    return bad("this is no GGUF file: it does not start with 'GGUF'");
  uint32_t version = cursor_.read<uint32_t>();
  tensorCount_ = cursor_.read<uint64_t>();
  valueCount_ = cursor_.read<uint64_t>();
  if (!cursor_.good())
    return cut("the header");
  if ((version & 0xffff) == 0 && version != 0)
    return bad("the file is big-endian, which is not supported");
  if (version != 2 && version != 3)
    return bad("GGUF version " + std::to_string(version) +
               " is not supported; supported are 2 and 3");
  // A key and a value take 13 bytes at least, a tensor's entry 24.
  if (valueCount_ > cursor_.remaining() / 13 ||
      tensorCount_ > cursor_.remaining() / 24)
    return bad("the header claims " + std::to_string(valueCount_) +
               " metadata values and " + std::to_string(tensorCount_) +
               " tensors, which cannot be in the " +
               std::to_string(cursor_.remaining()) + " bytes that follow");
  return Status();
}

Result<std::string> GgufReader::readString(const std::string &where) {
  uint64_t size = cursor_.read<uint64_t>();
  if (!cursor_.good())
    return cut(where);
  if (size > cursor_.remaining())
    return bad(where + ": a text claims " + std::to_string(size) +
               " bytes, but only " + std::to_string(cursor_.remaining()) +
               " follow");
  return std::string(cursor_.take(size));
}

Result<json> GgufReader::readArray(const std::string &where, int depth) {
  auto type = static_cast<GgufValueType>(cursor_.read<uint32_t>());
  uint64_t count = cursor_.read<uint64_t>();
  if (!cursor_.good())
    return cut(where);
  uint64_t least = ggufLeastBytes(type);
  if (least == 0)
    return bad(where + ": unknown type " +
               std::to_string(static_cast<uint32_t>(type)) +
               " of an array's elements");
  if (depth > 4)
    return bad(where + ": arrays are nested more than 4 deep");
  if (count > cursor_.remaining() / least)
    return bad(where + ": an array claims " + std::to_string(count) +
               " elements, which cannot be in the " +
               std::to_string(cursor_.remaining()) + " bytes that follow");
  json::array_t elements;
  elements.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    TANDEM_ASSIGN(json element, readValue(type, where, depth + 1));
    elements.push_back(std::move(element));
  }
  return json(std::move(elements));
}

Result<json> GgufReader::readValue(GgufValueType type, const std::string &where,
                                   int depth) {
  json value;
  switch (type) {
  case GgufValueType::U8:
    value = cursor_.read<uint8_t>();
    break;
  case GgufValueType::I8:
    value = cursor_.read<int8_t>();
    break;
  case GgufValueType::U16:
    value = cursor_.read<uint16_t>();
    break;
  case GgufValueType::I16:
    value = cursor_.read<int16_t>();
    break;
  case GgufValueType::U32:
    value = cursor_.read<uint32_t>();
    break;
  case GgufValueType::I32:
    value = cursor_.read<int32_t>();
    break;
  case GgufValueType::F32:
    value = static_cast<double>(cursor_.read<float>());
    break;
  case GgufValueType::Bool:
    value = cursor_.read<uint8_t>() != 0;
    break;
  case GgufValueType::U64:
    value = cursor_.read<uint64_t>();
    break;
  case GgufValueType::I64:
    value = cursor_.read<int64_t>();
    break;
  case GgufValueType::F64:
    value = cursor_.read<double>();
    break;
  case GgufValueType::String: {
    TANDEM_ASSIGN(value, readString(where));
    break;
  }
  case GgufValueType::Array:
    return readArray(where, depth);
  default:
    return bad(where + ": unknown value type " +
               std::to_string(static_cast<uint32_t>(type)));
  }
  if (!cursor_.good())
    return cut(where);
  return value;
}

Status GgufReader::readMetadata() {
  for (uint64_t i = 0; i < valueCount_; ++i) {
    std::string place = "metadata key " + std::to_string(i);
    TANDEM_ASSIGN(std::string key, readString(place));
    if (key.empty() || !utf8::isValid(key))
      return bad(place + ": it is empty or not UTF-8");
    if (metadata_.contains(key))
      return bad("the metadata key '" + key + "' is there twice");
    auto type = static_cast<GgufValueType>(cursor_.read<uint32_t>());
    TANDEM_ASSIGN(metadata_[key], readValue(type, key, 0));
  }
  return Status();
}

Result<uint64_t> GgufReader::alignment() const {
  auto it = metadata_.find("general.alignment");
  if (it == metadata_.end())
    return uint64_t(32);
  uint64_t value = it->is_number_unsigned() ? it->get<uint64_t>() : 0;
  if (value < 8 || value > (1u << 20) || (value & (value - 1)) != 0)
    return bad("general.alignment: expected a power of two from 8 to 2^20, "
               "got " +
               describeJson(*it));
  return value;
}

Result<StoredTensor> GgufReader::readTensorInfo(uint64_t number) {
  std::string place = "the entry of tensor " + std::to_string(number);
  StoredTensor tensor;
  TANDEM_ASSIGN(tensor.name, readString(place));
  uint32_t dimensions = cursor_.read<uint32_t>();
  if (!cursor_.good())
    return cut(place);
  if (utf8::isValid(tensor.name))
    place = "tensor '" + tensor.name + "'";
  if (dimensions > 8)
    return bad(place + ": it claims " + std::to_string(dimensions) +
               " dimensions; at most 8 are supported");
  for (uint32_t i = 0; i < dimensions; ++i) {
    uint64_t size = cursor_.read<uint64_t>();
    if (cursor_.good() && (size == 0 || size > (uint64_t(1) << 48)))
      return bad(place + ": dimension " + std::to_string(i) + " has size " +
                 std::to_string(size));
    // The file has the innermost first.
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
  }
  uint32_t type = cursor_.read<uint32_t>();
  tensor.offset = cursor_.read<uint64_t>();
  if (!cursor_.good())
    return cut(place);
  Result<DType> dtype = ggufTensorType(type);
  if (!dtype.ok())
    return dtype.status().withContext(place).withContext(file_->path());
  tensor.dtype = *dtype;
  return tensor;
}

Status GgufReader::readTensors(TensorStore &store) {
  TANDEM_ASSIGN(uint64_t unit, alignment());
  std::vector<StoredTensor> tensors;
  tensors.reserve(tensorCount_);
  for (uint64_t i = 0; i < tensorCount_; ++i) {
    TANDEM_ASSIGN(StoredTensor tensor, readTensorInfo(i));
    if (tensor.offset % unit != 0)
      return bad("tensor '" + utf8::repaired(tensor.name) + "': its offset " +
                 std::to_string(tensor.offset) +
                 " is no multiple of the file's alignment, " +
                 std::to_string(unit));
    tensors.push_back(std::move(tensor));
  }
  uint64_t dataStart = (cursor_.position() + unit - 1) / unit * unit;
  int fileIndex = store.addFile(file_);
  for (StoredTensor &tensor : tensors) {
    tensor.fileIndex = fileIndex;
    if (__builtin_add_overflow(tensor.offset, dataStart, &tensor.offset))
      return bad("tensor '" + utf8::repaired(tensor.name) +
                 "': its offset passes the end of the file");
    TANDEM_TRY(store.add(std::move(tensor)));
  }
  return Status();
}

/// How the name of part `number` (from 0) of `count` parts ends.
std::string partEnding(int64_t number, int64_t count) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05d-of-%05d.gguf",
                static_cast<int>(number + 1), static_cast<int>(count));
  return text;
}

/// The name of part `number` of the `count` parts whose first is `path`;
/// empty where `path` is not named as a first part.
std::string partPath(const std::string &path, int64_t number, int64_t count) {
  std::string first = partEnding(0, count);
  if (path.size() <= first.size() ||
      path.substr(path.size() - first.size()) != first)
    return "";
  return path.substr(0, path.size() - first.size()) + partEnding(number, count);
}

/// How a file says it belongs to a split model.
struct Split {
  int64_t number = 0, count = 1, tensors = -1;
};

Result<Split> readSplit(const ConfigNode &metadata) {
  Split split;
  TANDEM_ASSIGN(split.count, metadata.integerOr("split.count", 1));
  TANDEM_ASSIGN(split.number, metadata.integerOr("split.no", 0));
  TANDEM_ASSIGN(split.tensors, metadata.integerOr("split.tensors.count", -1));
  // A split of 0 or 1 files is none.
  split.count = split.count == 0 ? 1 : split.count;
  if (split.count < 1 || split.count > 99999 || split.number < 0 ||
      split.number >= split.count)
    return metadata.error("split.no " + std::to_string(split.number) +
                          " of split.count " + std::to_string(split.count) +
                          " is no part of a split model");
  return split;
}

Status readFurtherPart(const std::string &path, const Split &expected,
                       TensorStore &store, uint64_t &tensorCount) {
  std::string part = "part " + std::to_string(expected.number + 1) + " of " +
                     std::to_string(expected.count);
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok())
    return file.status().withContext(part);
  GgufReader reader(*file);
  TANDEM_TRY(reader.readHeader());
  TANDEM_TRY(reader.readMetadata());
  ConfigNode metadata = ConfigNode::fromJson(reader.metadata(), path);
  TANDEM_ASSIGN(Split split, readSplit(metadata));
  if (split.number != expected.number || split.count != expected.count)
    return metadata.error("expected " + part + ", got part " +
                          std::to_string(split.number + 1) + " of " +
                          std::to_string(split.count));
  tensorCount += reader.tensorCount();
  return reader.readTensors(store);
}

} // namespace

Result<GgufModel> readGguf(const std::string &path) {
  TANDEM_ASSIGN(auto file, MappedFile::open(path));
  GgufReader reader(file);
  GgufModel model;
  TANDEM_TRY(reader.readHeader());
  TANDEM_TRY(reader.readMetadata());
  model.metadata = ConfigNode::fromJson(reader.metadata(), path);
  TANDEM_ASSIGN(Split split, readSplit(model.metadata));
  if (split.number != 0)
    return model.metadata.error(
        "this is part " + std::to_string(split.number + 1) + " of " +
        std::to_string(split.count) + " of a split model; give the first part");
  TANDEM_TRY(reader.readTensors(model.tensors));
  uint64_t tensorCount = reader.tensorCount();
  for (Split part{1, split.count, -1}; part.number < split.count;
       ++part.number) {
    std::string name = partPath(path, part.number, part.count);
    if (name.empty())
      return model.metadata.error(
          "the model has " + std::to_string(split.count) +
          " parts, found by their names; this one's should end in '" +
          partEnding(0, split.count) + "'");
    TANDEM_TRY(readFurtherPart(name, part, model.tensors, tensorCount));
  }
  if (split.tensors >= 0 && static_cast<uint64_t>(split.tensors) != tensorCount)
    return model.metadata.error(
        "split.tensors.count is " + std::to_string(split.tensors) +
        ", but the parts hold " + std::to_string(tensorCount) + " tensors");
  TANDEM_TRY(model.tensors.seal());
  return model;
}

} // namespace tandem

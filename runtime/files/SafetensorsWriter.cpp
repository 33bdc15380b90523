#include "runtime/files/SafetensorsWriter.h"

#include "runtime/files/Json.h"
#include "runtime/files/Safetensors.h"
#include "runtime/files/Utf8.h"

#include <algorithm>

namespace tandem {
namespace {

using nlohmann::ordered_json;

Status checkHeader(const TensorHeader &tensor) {
  if (!utf8::isValid(tensor.name) || tensor.name.empty() ||
      tensor.name == "__metadata__")
    return Status::refused("'" + utf8::repaired(tensor.name) +
                           "' cannot name a tensor");
  if (!safetensorsName(tensor.dtype))
    return Status::refused("tensor '" + tensor.name + "': the type " +
                           std::string(name(tensor.dtype)) +
                           " cannot be written to safetensors");
  if (!elementCount(tensor.shape))
    return Status::refused("tensor '" + tensor.name + "': the shape " +
                           shapeToString(tensor.shape) + " cannot be");
  return Status();
}

/// Wide types first, so that each tensor is aligned as its type wants.
bool comesBefore(const TensorHeader &a, const TensorHeader &b) {
  return std::make_tuple(-blockBytes(a.dtype), std::cref(a.name)) <
         std::make_tuple(-blockBytes(b.dtype), std::cref(b.name));
}

} // namespace

Result<SafetensorsLayout>
layOutSafetensors(std::vector<TensorHeader> tensors,
                  const std::map<std::string, std::string> &metadata) {
  std::sort(tensors.begin(), tensors.end(), comesBefore);
  ordered_json header = ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  SafetensorsLayout layout;
  uint64_t end = 0;
  for (const TensorHeader &tensor : tensors) {
    TANDEM_TRY(checkHeader(tensor));
    auto size = static_cast<uint64_t>(storageBytes(
        tensor.dtype, static_cast<int64_t>(*elementCount(tensor.shape))));
    if (!layout.places.insert({tensor.name, {end, size}}).second)
      return Status::refused("tensor '" + tensor.name + "': it is there twice");
    header[tensor.name] = {{"dtype", *safetensorsName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {end, end + size}}};
    end += size;
  }
  std::string text =
      header.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  // The data begins at a multiple of 8: the header's size takes 8 bytes.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  uint64_t size = text.size();
  layout.head.assign(reinterpret_cast<const char *>(&size), sizeof size);
  layout.head += text;
  for (auto &[name, place] : layout.places)
    place.offset += layout.head.size();
  layout.bytes = layout.head.size() + end;
  return layout;
}

Result<SafetensorsWriter>
SafetensorsWriter::create(const std::string &path,
                          std::vector<TensorHeader> tensors,
                          const std::map<std::string, std::string> &metadata) {
  Result<SafetensorsLayout> layout =
      layOutSafetensors(std::move(tensors), metadata);
  if (!layout.ok())
    return layout.status().withContext(path);
  TANDEM_ASSIGN(NewFile file, NewFile::create(path));
  TANDEM_TRY(file.write(layout->head));
  SafetensorsWriter writer(std::move(file));
  writer.path_ = path;
  writer.places_ = std::move(layout->places);
  return writer;
}

Status SafetensorsWriter::write(const std::string &name, uint64_t offset,
                                const void *data, uint64_t size) {
  auto it = places_.find(name);
  if (it == places_.end())
    return Status::refused(path_ + ": tensor '" + name + "' was not declared");
  const SafetensorsLayout::Place &place = it->second;
  if (offset > place.size || size > place.size - offset)
    return Status::refused(path_ + ": tensor '" + name + "' has " +
                           std::to_string(place.size) + " bytes, not " +
                           std::to_string(size) + " at byte " +
                           std::to_string(offset));
  written_[name] += size;
  return file_.writeAt(place.offset + offset, data, size);
}

Status SafetensorsWriter::commit() {
  for (const auto &[name, place] : places_)
    if (written_[name] != place.size)
      return Status::refused(path_ + ": tensor '" + name + "' has " +
                             std::to_string(place.size) + " bytes, but " +
                             std::to_string(written_[name]) + " were written");
  return file_.commit();
}

Status writeSafetensors(const std::string &path,
                        const std::vector<TensorToWrite> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  std::vector<TensorHeader> headers;
  for (const TensorToWrite &tensor : tensors)
    headers.push_back(tensor.header);
  TANDEM_ASSIGN(SafetensorsWriter writer,
                SafetensorsWriter::create(path, std::move(headers), metadata));
  for (const auto &[header, data] : tensors) {
    int64_t count = static_cast<int64_t>(*elementCount(header.shape));
    TANDEM_TRY(
        writer.write(header.name, 0, data,
                     static_cast<uint64_t>(storageBytes(header.dtype, count))));
  }
  return writer.commit();
}

} // namespace tandem

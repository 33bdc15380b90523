#include "runtime/files/TensorStore.h"

#include "runtime/files/Utf8.h"

#include <algorithm>

namespace tandem {
namespace {

std::string lastComponent(const std::string &path) {
  size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Status bad(const StoredTensor &tensor, const std::string &what) {
  return Status::refused("tensor '" + tensor.name + "': " + what);
}

std::string range(uint64_t begin, uint64_t bytes) {
  return std::to_string(begin) + " to " + std::to_string(begin + bytes);
}

} // namespace

std::string shapeToString(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<uint64_t> elementCount(const std::vector<int64_t> &shape) {
  constexpr uint64_t limit = uint64_t(1) << 62;
  uint64_t count = 1;
  bool tooMany = false;
  // A zero anywhere makes the count zero, however large the other sizes are.
  bool none = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    none |= size == 0;
    tooMany |=
        __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count) ||
        count >= limit;
  }
  if (none)
    return 0;
  if (tooMany)
    return std::nullopt;
  return count;
}

uint64_t StoredTensor::elements() const {
  return elementCount(shape).value_or(0);
}

int TensorStore::addFile(std::shared_ptr<const MappedFile> file) {
  files_.push_back({file->path(), lastComponent(file->path()),
                    fingerprintOf(file->data(), file->size())});
  mappings_.push_back(std::move(file));
  return static_cast<int>(files_.size()) - 1;
}

Status TensorStore::add(StoredTensor tensor) {
  const MappedFile &file = mapping(tensor.fileIndex);
  auto refuse = [&](const std::string &what) {
    return bad(tensor, what).withContext(file.path());
  };
  if (size_t at = utf8::firstInvalid(tensor.name);
      at != std::string_view::npos) {
    tensor.name = utf8::repaired(tensor.name);
    return refuse("the name is not UTF-8 at its byte " + std::to_string(at));
  }
  if (tensor.name.empty())
    return refuse("the name is empty");
  std::optional<uint64_t> count = elementCount(tensor.shape);
  if (!count)
    return refuse("the shape " + shapeToString(tensor.shape) +
                  " is negative or has too many elements");
  int64_t block = blockElements(tensor.dtype);
  if (*count % static_cast<uint64_t>(block) != 0 ||
      (block > 1 && (tensor.shape.empty() || tensor.shape.back() % block != 0)))
    return refuse("rows of shape " + shapeToString(tensor.shape) +
                  " are not whole blocks of " + std::to_string(block) + " " +
                  std::string(name(tensor.dtype)) + " values");
  if (__builtin_mul_overflow(*count / static_cast<uint64_t>(block),
                             static_cast<uint64_t>(blockBytes(tensor.dtype)),
                             &tensor.bytes) ||
      tensor.offset > file.size() || tensor.bytes > file.size() - tensor.offset)
    return refuse("its data, " + std::string(name(tensor.dtype)) + " " +
                  shapeToString(tensor.shape) + " at byte " +
                  std::to_string(tensor.offset) +
                  ", reaches past the end of the file, which has " +
                  std::to_string(file.size()) +
                  " bytes; the file is cut short or its header is wrong");
  tensor.data = file.data() + tensor.offset;
  tensors_.push_back(std::move(tensor));
  return Status();
}

Status TensorStore::seal() {
  TANDEM_TRY(refuseOverlaps());
  std::sort(tensors_.begin(), tensors_.end(),
            [](const StoredTensor &a, const StoredTensor &b) {
              return a.name < b.name;
            });
  for (size_t i = 1; i < tensors_.size(); ++i) {
    const StoredTensor &a = tensors_[i - 1], &b = tensors_[i];
    if (a.name != b.name)
      continue;
    const std::string &first = mapping(a.fileIndex).path();
    const std::string &second = mapping(b.fileIndex).path();
    return bad(a, first == second
                      ? "it is there twice"
                      : "it is in '" + first + "' and in '" + second + "'")
        .withContext(first);
  }
  return Status();
}

Status TensorStore::refuseOverlaps() const {
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : tensors_)
    if (tensor.bytes != 0)
      order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const StoredTensor *a, const StoredTensor *b) {
              return std::tie(a->fileIndex, a->offset, a->name) <
                     std::tie(b->fileIndex, b->offset, b->name);
            });
  for (size_t i = 1; i < order.size(); ++i) {
    const StoredTensor &a = *order[i - 1], &b = *order[i];
    if (a.fileIndex == b.fileIndex && b.offset < a.offset + a.bytes &&
        a.name != b.name)
      return bad(b, "its bytes " + range(b.offset, b.bytes) +
                        " overlap those of '" + a.name + "', " +
                        range(a.offset, a.bytes))
          .withContext(mapping(b.fileIndex).path());
  }
  return Status();
}

const StoredTensor *TensorStore::find(std::string_view name) const {
  auto it =
      std::lower_bound(tensors_.begin(), tensors_.end(), name,
                       [](const StoredTensor &tensor, std::string_view key) {
                         return tensor.name < key;
                       });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

uint64_t TensorStore::totalBytes() const {
  uint64_t sum = 0;
  for (const StoredTensor &tensor : tensors_)
    sum += tensor.bytes;
  return sum;
}

} // namespace tandem

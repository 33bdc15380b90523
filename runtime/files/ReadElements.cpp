#include "runtime/files/ReadElements.h"

#include "runtime/files/Blocks.h"
#include "runtime/files/ConvertElements.h"

#include <algorithm>
#include <cstring>

namespace tandem {
namespace {

constexpr uint64_t longestBlock = 256;

/// Writes [first, first + count) of a quantised tensor as floats.
void readBlocks(const StoredTensor &tensor, uint64_t first, uint64_t count,
                float *out) {
  const auto elements = static_cast<uint64_t>(blockElements(tensor.dtype));
  const auto bytes = static_cast<uint64_t>(blockBytes(tensor.dtype));
  float block[longestBlock];
  while (count != 0) {
    const std::byte *from = tensor.data + first / elements * bytes;
    uint64_t within = first % elements, taken;
    if (within == 0 && count >= elements) {
      taken = count / elements * elements;
      dequantiseBlocks(tensor.dtype, from, count / elements, out);
    } else {
      taken = std::min(elements - within, count);
      dequantiseBlocks(tensor.dtype, from, 1, block);
      std::memcpy(out, block + within, taken * sizeof(float));
    }
    first += taken;
    count -= taken;
    out += taken;
  }
}

/// The same as the plain type `to`, a piece at a time through floats.
Status readBlocksAs(const StoredTensor &tensor, uint64_t first, uint64_t count,
                    DType to, void *out) {
  float piece[4 * longestBlock];
  auto *bytes = static_cast<std::byte *>(out);
  while (count != 0) {
    uint64_t taken = std::min<uint64_t>(4 * longestBlock, count);
    readBlocks(tensor, first, taken, piece);
    TANDEM_TRY(convertElements(DType::F32,
                               reinterpret_cast<const std::byte *>(piece),
                               taken, to, bytes, first));
    first += taken;
    count -= taken;
    bytes += taken * static_cast<uint64_t>(blockBytes(to));
  }
  return Status();
}

/// Whole blocks as they are.
Status copyBlocks(const StoredTensor &tensor, uint64_t first, uint64_t count,
                  DType to, void *out) {
  const auto elements = static_cast<uint64_t>(blockElements(to));
  const auto bytes = static_cast<uint64_t>(blockBytes(to));
  if (tensor.dtype != to || first % elements != 0 || count % elements != 0)
    return Status::refused("cannot be read as " + std::string(name(to)) +
                           ": only whole blocks of that type can");
  std::memcpy(out, tensor.data + first / elements * bytes,
              count / elements * bytes);
  return Status();
}

Status readRange(const StoredTensor &tensor, uint64_t first, uint64_t count,
                 DType to, void *out) {
  uint64_t elements = tensor.elements();
  if (first > elements || count > elements - first)
    return Status::refused("elements " + std::to_string(first) + " to " +
                           std::to_string(first) + " + " +
                           std::to_string(count) + " are not among its " +
                           std::to_string(elements));
  if (count == 0)
    return Status();
  if (isQuantised(to))
    return copyBlocks(tensor, first, count, to, out);
  if (!isQuantised(tensor.dtype))
    return convertElements(
        tensor.dtype,
        tensor.data + first * static_cast<uint64_t>(blockBytes(tensor.dtype)),
        count, to, out, first);
  if (!isFloat(to))
    return Status::refused(std::string(name(tensor.dtype)) +
                           " values cannot be read as " +
                           std::string(name(to)));
  if (to != DType::F32)
    return readBlocksAs(tensor, first, count, to, out);
  readBlocks(tensor, first, count, static_cast<float *>(out));
  return Status();
}

} // namespace

Status readElements(const StoredTensor &tensor, uint64_t first, uint64_t count,
                    DType to, void *out) {
  Status status = readRange(tensor, first, count, to, out);
  return status.ok() ? status
                     : status.withContext("tensor '" + tensor.name + "'");
}

} // namespace tandem

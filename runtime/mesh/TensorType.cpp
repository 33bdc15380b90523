#include "runtime/mesh/TensorType.h"

namespace tandem {

bool TensorType::operator==(const TensorType &other) const {
  if (dtype != other.dtype || shape != other.shape ||
      !sharding.sameLayout(other.sharding))
    return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!sameSplit(shape[d], sharding.dims[d].axes,
                   other.sharding.dims[d].axes))
      return false;
  return sharding.unreduced.empty() || reduction == other.reduction;
}

std::vector<int64_t> TensorType::localShape() const {
  return tandem::localShape(shape, sharding);
}

int64_t TensorType::localElements() const {
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    elements *= capacityOf(shape[d], sharding.dims[d].axes);
  return elements;
}

int64_t TensorType::localBytes() const {
  return storageBytes(dtype, localElements());
}

std::string TensorType::toString(const Mesh &mesh) const {
  std::string text(name(dtype));
  text += "[";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? "x" : "") + std::to_string(shape[d]);
  text += "] " + tandem::toString(sharding, mesh);
  if (!sharding.unreduced.empty() && reduction != ReductionKind::Sum)
    text += reduction == ReductionKind::Max ? " of max" : " of min";
  return text;
}

Status check(const TensorType &type, const Mesh &mesh) {
  // Bounds what any product of sizes below may reach.
  const int64_t limit = int64_t(1) << 57;
  int64_t elements = 1;
  for (int64_t size : type.shape) {
    if (size < 0)
      return Status::refused("a dimension has the size " +
                             std::to_string(size) + ", below 0");
    if (size && elements > limit / size)
      return Status::refused("the shape has more than 2^57 elements");
    elements *= size ? size : 1;
  }
  TANDEM_TRY(check(type.sharding, type.shape.size(), mesh));
  int64_t block = blockElements(type.dtype);
  if (block > 1 && (type.shape.empty() || type.localShape().back() % block))
    return Status::refused(
        "the last dimension of a tensor of " + std::string(name(type.dtype)) +
        " is no multiple of a block of " + std::to_string(block));
  return Status();
}

} // namespace tandem

#include "runtime/exec/RankLayout.h"

namespace tandem {

TensorArg RankLayout::tensor(const TensorType &type, std::byte *data) const {
  TensorArg arg;
  arg.data = data;
  arg.dtype = type.dtype;
  arg.dims.resize(type.shape.size());
  for (size_t i = 0; i < arg.dims.size(); ++i) {
    Extent piece = extent(type, i);
    arg.dims[i] = {piece.capacity, piece.size, piece.begin, type.shape[i]};
  }
  return arg;
}

} // namespace tandem

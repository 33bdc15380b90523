//===- ReadView.h - A strided view of a stored tensor -----------*- C++ -*-===//
//
// How a rank gets its piece of a parameter: any slice, transpose or regular
// permutation of a stored tensor is an offset, and a size and a stride for
// each dimension, counted in elements of the row-major stored tensor. Of a
// [3, 4] tensor, for example:
//
//   {offset 1, sizes {3, 2}, strides {4, 1}}    columns 1 and 2
//   {offset 0, sizes {4, 3}, strides {1, 4}}    the transpose
//   {offset 0, sizes {3, 2, 2}, strides {4, 1, 2}}   even columns, then odd
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_READVIEW_H
#define TANDEM_RUNTIME_FILES_READVIEW_H

#include "runtime/files/TensorStore.h"

namespace tandem {

struct StridedView {
  uint64_t offset = 0;
  std::vector<int64_t> sizes, strides;
};

/// The view that is the whole of `tensor`.
StridedView wholeView(const StoredTensor &tensor);

/// Writes the values of `view` to `out` as the plain type `to`: densely in
/// row-major order, or, where `outStrides` gives a stride for each dimension,
/// element [i, j, ...] at i * outStrides[0] + j * outStrides[1] + ...
/// elements, leaving what lies between as it is. So a slice goes into a
/// buffer of larger capacity. Refuses views that leave the tensor.
Status readView(const StoredTensor &tensor, const StridedView &view, DType to,
                void *out, const std::vector<int64_t> &outStrides = {});

/// The address where `view` already lies as dense row-major `to`, aligned for
/// its type, so that nothing need be copied; null where it does not.
const std::byte *mappedView(const StoredTensor &tensor, const StridedView &view,
                            DType to);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_READVIEW_H

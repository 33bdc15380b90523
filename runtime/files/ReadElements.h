//===- ReadElements.h - Values of a stored tensor ---------------*- C++ -*-===//
//
// The values of any stored tensor in any plain element type, from any element
// on: quantised blocks are made plain, other types converted.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_READELEMENTS_H
#define TANDEM_RUNTIME_FILES_READELEMENTS_H

#include "runtime/files/TensorStore.h"

namespace tandem {

/// Writes elements [first, first + count) of `tensor`, in row-major order, to
/// `out` as `to`. Blocks become floats only, and keep their own type where
/// the range is whole blocks. Refuses ranges outside the tensor and values
/// that `to` cannot hold (see ConvertElements.h).
Status readElements(const StoredTensor &tensor, uint64_t first, uint64_t count,
                    DType to, void *out);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_READELEMENTS_H

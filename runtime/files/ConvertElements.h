//===- ConvertElements.h - From one element type to another -----*- C++ -*-===//
//
// Floats may round (to nearest, ties to even); nothing else may lose. So a
// float that is no integer does not become one, an integer that a float type
// cannot tell from its neighbours does not become a float, and only 0 and 1
// become a Bool.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CONVERTELEMENTS_H
#define TANDEM_RUNTIME_FILES_CONVERTELEMENTS_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <cstddef>

namespace tandem {

/// Converts `count` elements of the plain type `from` at `data` (any
/// alignment) to the plain type `to` at `out`. Refuses the first value that
/// would be lost, by its index counted from `firstIndex`. F64 becomes F16 or
/// BF16 by way of F32.
Status convertElements(DType from, const std::byte *data, uint64_t count,
                       DType to, void *out, uint64_t firstIndex = 0);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CONVERTELEMENTS_H

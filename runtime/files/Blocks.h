//===- Blocks.h - GGUF's quantised blocks made plain ------------*- C++ -*-===//
//
// A block type stores 32 or 256 neighbours of a row as small integers with
// shared scales. Each value is a product, or a product and a sum, in float32,
// in the order that defines the type; so results do not depend on who reads.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_BLOCKS_H
#define TANDEM_RUNTIME_FILES_BLOCKS_H

#include "runtime/base/DType.h"

#include <cstddef>

namespace tandem {

/// Writes the values of `count` blocks of the quantised type `type` at
/// `blocks` (any alignment) to `out`, blockElements(type) each.
void dequantiseBlocks(DType type, const std::byte *blocks, uint64_t count,
                      float *out);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_BLOCKS_H

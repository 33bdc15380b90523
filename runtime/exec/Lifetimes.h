//===- Lifetimes.h - When bytes of the arena stop mattering -----*- C++ -*-===//
//
// A testing device overwrites what the plan says is dead, so that reading it
// shows. Bytes are dead after an access unless something reads them, or is
// given them at the end, before they are written again:
//
//   %1 = einsum ...       %1 lives in [0, 64)
//   %2 = (%1 reshaped)    an alias: the same bytes, no instruction
//   %3 = rope %2          %1 is not dead before this
//
// In a schedule the same bytes die once for each microbatch.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_LIFETIMES_H
#define TANDEM_RUNTIME_EXEC_LIFETIMES_H

#include "runtime/plan/Walk.h"

namespace tandem {

/// Bytes of the arena's scratch part.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// For each step of a program the bytes that are dead once it ran, and that
/// no other stream may still be using.
std::vector<std::vector<ByteRange>>
deadAfter(const Plan &plan, const fb::Entry &entry, uint32_t stage);

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_LIFETIMES_H

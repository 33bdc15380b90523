//===- Lifetimes.h - When bytes of the arena stop mattering -----*- C++ -*-===//
//
// A testing device overwrites what the plan says is dead, so that reading it
// shows. Bytes of a value are dead after its last access unless another value
// that shares some of them is read before it is written:
//
//   %1 = einsum ...       %1 lives in [0, 64)
//   %2 = (%1 reshaped)    an alias: the same bytes, no instruction
//   %3 = rope %2          %1 is not dead before this
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_LIFETIMES_H
#define TANDEM_RUNTIME_EXEC_LIFETIMES_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// Bytes of the arena's scratch part.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// For each instruction the bytes that are dead once it ran. Values that are
/// touched from more than one stream, and those of `kept`, never die.
std::vector<std::vector<ByteRange>>
deadAfter(const fb::Program &program, const std::vector<uint32_t> &kept);

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_LIFETIMES_H

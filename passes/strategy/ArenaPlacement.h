//===- ArenaPlacement.h - Buffers that live for a while in one arena ------===//
//
// What it is: dynamic storage allocation. Each buffer has a size and lives
// from its first to its last instruction, both included; buffers that are
// alive at once may not overlap; the arena should be small.
//
//   a: 64 bytes, 0..1   b: 128, 1..2   c: 64, 2..3
//   a at 0, b at 64, c at 0: 192 bytes; most alive at once: 192
//
// Solved by best fit in several orders (size, lifetime, start); the smallest
// is taken. No arena can be smaller than the most bytes alive at once, which
// is stated beside the answer.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_STRATEGY_ARENAPLACEMENT_H
#define TANDEM_PASSES_STRATEGY_ARENAPLACEMENT_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

struct ArenaBuffer {
  int64_t bytes = 0;
  int64_t first = 0; ///< The instruction that writes it.
  int64_t last = 0;  ///< The last that reads it.
};

struct ArenaProblem {
  std::vector<ArenaBuffer> buffers;
  int64_t alignment = 64;

  /// Refuses negative sizes, lives that end before they begin, and an
  /// alignment that is no power of two.
  Status check() const;
};

struct ArenaSolution {
  std::vector<int64_t> offsets;
  int64_t peak = 0;
  int64_t lowerBound = 0;

  /// Whether no two buffers alive at once overlap and all fit into `peak`.
  Status verify(const ArenaProblem &problem) const;
};

Result<ArenaSolution> solve(const ArenaProblem &problem);

} // namespace tandem

#endif // TANDEM_PASSES_STRATEGY_ARENAPLACEMENT_H

//===- BlockCopy.h - Lanes of one dimension moved as blocks -----*- C++ -*-===//
//
// Splitting or joining a dense tensor along one dimension moves `rows` blocks
// of equal size at two fixed strides: what a collective does to bring pieces
// into contiguous form, and what a 2-D copy engine does in one command.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_BLOCKCOPY_H
#define TANDEM_RUNTIME_EXEC_BLOCKCOPY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

/// All in bytes but `rows`.
struct BlockCopy {
  int64_t from = 0; ///< Where the first block is in the source.
  int64_t to = 0;   ///< Where it goes in the target.
  int64_t bytes = 0;
  int64_t rows = 1;
  int64_t fromStride = 0;
  int64_t toStride = 0;

  /// Source and target do not overlap.
  void run(const std::byte *source, std::byte *target) const;
};

/// Which lanes of a dimension are copied to where.
struct LaneRange {
  int64_t from = 0;
  int64_t to = 0;
  int64_t count = 0;
};

/// The copy of `lanes` of dimension `dim` between dense tensors of shapes
/// `source` and `target`, which agree in all other dimensions.
BlockCopy laneCopy(const std::vector<int64_t> &source,
                   const std::vector<int64_t> &target, size_t dim,
                   LaneRange lanes, int64_t elementBytes);

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_BLOCKCOPY_H

//===- PieceCut.h - Fixed boundaries of sums that layouts split -*- C++ -*-===//
//
// What it is: how a dimension that is summed over is cut so that the sum has
// the same bits whichever axes split the dimension. Its global extent n is cut
// into `pieces` (a power of two) of ceil(n / pieces) lanes, the last ones
// shorter or empty; a rank holds whole pieces, an aligned power of two of
// them, and adds them in one binary tree. What ranks then add is the top of
// that tree, if they add in one too.
//
//   n = 12, 4 pieces     0..2 3..5 6..8 9..11
//   two ranks            pieces 0 1 | pieces 2 3
//   three ranks          refused: lanes 0..3 end within a piece
//
// Of several dimensions that are cut, the first is the top of the tree: layouts
// may split the first ones, but a later one only together with all pieces of
// those before it on ranks of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_PIECECUT_H
#define TANDEM_RUNTIME_KERNELS_PIECECUT_H

#include "runtime/kernels/Contract.h"

namespace tandem {

/// Most pieces that a dimension may be cut into.
constexpr int64_t kMostPieces = 64;

class PieceCut {
public:
  PieceCut(const TensorDim &dim, int64_t pieces)
      : size(std::max<int64_t>((dim.global + pieces - 1) / pieces, 1)),
        valid(dim.valid) {
    whole = dim.begin == 0 && dim.capacity >= dim.global;
    count_ = whole ? pieces : dim.capacity / size;
    fits_ = whole || (dim.capacity % size == 0 && isPowerOfTwo(count_) &&
                      (dim.valid == 0 || dim.begin % dim.capacity == 0));
  }

  static bool isPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

  /// Whether this rank holds whole pieces, and an aligned power of two.
  bool fits() const { return fits_; }
  /// Pieces of this rank's capacity.
  int64_t count() const { return count_; }
  int64_t first(int64_t piece) const { return piece * size; }
  int64_t lanes(int64_t piece) const {
    return std::clamp<int64_t>(valid - first(piece), 0, size);
  }

private:
  int64_t size, valid, count_ = 1;
  bool whole = false, fits_ = true;
};

/// Checks the number of pieces, and that `dim` ends at their boundaries.
inline void checkCut(Contract &contract, int64_t pieces,
                     const std::vector<TensorDim> &cut) {
  contract.require(PieceCut::isPowerOfTwo(pieces) && pieces <= kMostPieces,
                   "sums are cut into " + std::to_string(pieces) +
                       " pieces, expected a power of two up to " +
                       std::to_string(kMostPieces));
  for (size_t i = 0; contract.ok() && i < cut.size(); ++i)
    contract.require(PieceCut(cut[i], pieces).fits(),
                     "a rank holds " + std::to_string(cut[i].capacity) +
                         " of " + std::to_string(cut[i].global) +
                         " lanes, which is no power of two of " +
                         std::to_string(pieces) + " equal pieces");
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_PIECECUT_H

//===- ChainProduct.h - Products whose bits know no tiles -------*- C++ -*-===//
//
// What it is: a matrix product each element of which is one chain of
// additions in the order of the depth, fused where the CPU fuses. A row's bits
// depend on that row and on b alone: not on the rows and columns beside it,
// on tiles or on threads.
//
//   c[r, j] = ((0 + a[r, 0] b[0, j]) + a[r, 1] b[1, j]) + ...
//
// Where layouts split the depth, it is cut into pieces at boundaries that are
// the same in all of them. Each piece is a chain, and pieces are added in one
// binary tree, of which a rank that holds an aligned part of the pieces has a
// node; an empty piece is +0:
//
//   pieces 0 1 2 3 on one rank   (p0 + p1) + (p2 + p3)
//   on two                       p0 + p1  |  p2 + p3, added by the all-reduce
//
// It is the faster one too where a lies with its rows side by side, as the
// gradient of a weight has it (84 to 95 % of the sgemm peak where oneDNN
// reaches 45 to 90 %).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_CHAINPRODUCT_H
#define TANDEM_RUNTIME_KERNELS_CHAINPRODUCT_H

#include "runtime/kernels/Product.h"

namespace tandem {

/// A part of the contraction: where it starts, loops from the outside in,
/// and the innermost loop.
struct ChainPiece {
  LoopNest<2>::Offsets first = {};
  LoopNest<2> deep;
  LoopNest<2>::Loop inner = {1, {}};
};

struct ChainProduct {
  int64_t rows = 1, columns = 1;
  ProductMatrix a, b, c; ///< Of a the row stride counts, of b the column's.
  LoopNest<3> outer;     ///< Offsets of a, b and c.
  std::vector<ChainPiece> pieces; ///< A power of two of them.

  /// `product` as it is, its contraction in one piece.
  static ChainProduct of(const Product &product);
  /// Exchanges a and b where that makes rows of c contiguous, or columns many.
  void normalise();
  void run(std::byte *scratch, ThreadPool &threads) const;

private:
  struct Tile;
  void transpose();
  void runTile(const LoopNest<3>::Offsets &at, const Tile &tile,
               float *scratch) const;
  void runPiece(const LoopNest<3>::Offsets &at, const Tile &tile,
                const ChainPiece &piece, float *sums, float *scratch) const;
  void addBlock(const Tile &tile, const LoopNest<2>::Loop &depth, int64_t atA,
                int64_t atB, bool more, float *sums, float *scratch) const;
};

/// Bytes of scratch for each thread, with that many pieces.
int64_t chainScratchBytes(int64_t pieces);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_CHAINPRODUCT_H

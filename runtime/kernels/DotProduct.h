//===- DotProduct.h - One sum over two whole tensors ------------*- C++ -*-===//
//
// What it is: the product of one row and one column of great depth, such as
// the sum of squares of all lanes. Its depth is cut into pieces, each summed by
// one thread: 512 lanes at a time in float32, those sums in float64. In fixed
// pieces there may be many such sums beside each other, as of each row of two
// matrices; a thread then takes whole ones.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_DOTPRODUCT_H
#define TANDEM_RUNTIME_KERNELS_DOTPRODUCT_H

#include "runtime/kernels/ChainProduct.h"

namespace tandem {

class DotProduct {
public:
  /// The sum of `product`, which has one row and one column, and no outer loop
  /// unless its pieces are fixed.
  /// `fixed`: pieces are those of PieceCut.h, rounded to float32 and added in
  /// their binary tree; else they are chosen here and added in float64.
  DotProduct(ChainProduct product, bool fixed, int threads);
  void run(ThreadPool &threads);

private:
  using Offsets = LoopNest<3>::Offsets;
  double sumOf(const ChainPiece &piece, const Offsets &at) const;
  void store(double *parts, const Offsets &at) const;

  ChainProduct product;
  bool fixed;
  std::vector<double> sums; ///< One a piece; a thread's behind another's.
};

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_DOTPRODUCT_H

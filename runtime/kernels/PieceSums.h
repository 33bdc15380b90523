//===- PieceSums.h - Sums over rows in an order of their own ----*- C++ -*-===//
//
// What it is: `width` sums over many rows, in workspace. Rows are cut into
// pieces by their number alone, each piece adds its rows in order into lanes
// of its own, and the pieces are added in one binary tree: the same bits
// whatever thread works on which piece.
//
//   rows  0 .. 31 | 32 .. 63 | 64 .. 95 | 96 .. 99
//   sums    p0         p1         p2         p3        (p0 + p1) + (p2 + p3)
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_PIECESUMS_H
#define TANDEM_RUNTIME_KERNELS_PIECESUMS_H

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Tiles.h"

#include <algorithm>

namespace tandem {

/// How many pieces `rows` rows are cut into: one for 32 of them, at most 64.
inline int64_t sumPieces(int64_t rows) {
  return std::clamp<int64_t>((rows + 31) / 32, 1, 64);
}

template <typename C> class PieceSums {
public:
  /// `lanes`: room for sumPieces(rows) * width values. Give it as many rows
  /// as there may be: pieces go by that number.
  PieceSums(C *lanes, int64_t rows, int64_t width)
      : lanes(lanes), pieces(sumPieces(rows)), width(width) {}

  /// Calls body(first row, last row, zeroed sums) for each piece of `valid`
  /// rows.
  template <typename Body>
  void addRows(ThreadPool &threads, int64_t valid, const Body &body) const {
    forRanges(threads, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        C *mine = lanes + piece * width;
        std::fill_n(mine, width, C(0));
        body(valid * piece / pieces, valid * (piece + 1) / pieces, mine);
      }
    });
  }

  /// Adds the pieces; lanes [first, first + count) of the sums become the
  /// first `count` elements of `to`.
  void store(ThreadPool &threads, int64_t first, int64_t count,
             const TensorArg &to) const {
    int64_t grain = 16384 / pieces + 1;
    forRanges(threads, count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t step = 1; step < pieces; step *= 2)
        for (int64_t piece = 0; piece + step < pieces; piece += 2 * step) {
          C *left = lanes + piece * width + first;
          const C *right = left + step * width;
          rowAdd(left + begin, right + begin, end - begin);
        }
      for (int64_t i = begin; i < end; i += kTileLanes)
        storeTile<C>(to.data, to.dtype, i, std::min(kTileLanes, end - i),
                     lanes + first + i);
    });
  }

private:
  C *lanes;
  int64_t pieces, width;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_PIECESUMS_H

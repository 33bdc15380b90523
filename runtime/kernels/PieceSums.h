//===- PieceSums.h - Sums over rows in an order of their own ----*- C++ -*-===//
//
// What it is: `width` sums over many rows, in workspace. Rows are cut into
// pieces, each piece adds its rows in order into lanes of its own, and the
// pieces are added in one binary tree: the same bits whatever thread works on
// which piece. They are cut by their number alone, or, where layouts split
// them, at fixed global boundaries of some dimensions (PieceCut.h).
//
//   rows  0 .. 31 | 32 .. 63 | 64 .. 95 | 96 .. 99
//   sums    p0         p1         p2         p3        (p0 + p1) + (p2 + p3)
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_PIECESUMS_H
#define TANDEM_RUNTIME_KERNELS_PIECESUMS_H

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/PieceCut.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Tiles.h"

#include <algorithm>

namespace tandem {

/// The rows of a tensor, all dimensions but the last, in pieces.
class RowPieces {
public:
  struct Piece {
    std::vector<int64_t> first, count; ///< A box of rows, by dimension ...
    int64_t begin, end;                ///< ... of which rows [begin, end).
  };

  /// `cuts`: empty, or [pieces, dimensions as bits].
  RowPieces(const TensorArg &x, const std::vector<int64_t> &cuts)
      : dims(x.dims.begin(), x.dims.end() - 1), cuts(cuts) {}

  /// From capacities alone.
  int64_t count() const {
    int64_t count = 1, rows = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      rows *= dims[d].capacity;
      if (isCut(d))
        count *= PieceCut(dims[d], cuts[0]).count();
    }
    // One for 32 rows, at most 64.
    return cuts.empty() ? std::clamp<int64_t>((rows + 31) / 32, 1, 64) : count;
  }

  Piece at(int64_t index) const {
    Piece piece;
    int64_t rest = count(), rows = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      piece.first.push_back(0);
      piece.count.push_back(dims[d].valid);
      if (isCut(d)) {
        PieceCut cut(dims[d], cuts[0]);
        rest /= cut.count();
        piece.first.back() = cut.first(index / rest);
        piece.count.back() = cut.lanes(index / rest);
        index %= rest;
      }
      rows *= piece.count.back();
    }
    piece.begin = cuts.empty() ? rows * index / count() : 0;
    piece.end = cuts.empty() ? rows * (index + 1) / count() : rows;
    return piece;
  }

  /// What a kernel with such cuts asks of its call.
  void check(Contract &contract) const {
    std::vector<TensorDim> cut;
    for (size_t d = 0; !cuts.empty() && d < dims.size(); ++d) {
      contract.require(isCut(d) || dims[d].capacity >= dims[d].global,
                       "dimension " + std::to_string(d) +
                           " is summed over and split, but not cut into "
                           "pieces");
      if (isCut(d))
        cut.push_back(dims[d]);
    }
    if (!cuts.empty())
      checkCut(contract, cuts[0], cut);
  }

private:
  bool isCut(size_t d) const { return !cuts.empty() && (cuts[1] >> d & 1); }

  std::vector<TensorDim> dims;
  std::vector<int64_t> cuts;
};

template <typename C> class PieceSums {
public:
  /// `lanes`: room for pieces * width values.
  PieceSums(C *lanes, int64_t pieces, int64_t width)
      : lanes(lanes), pieces(pieces), width(width) {}

  /// Calls body(piece, zeroed sums) for each piece.
  template <typename Body>
  void addRows(ThreadPool &threads, const Body &body) const {
    forRanges(threads, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        C *mine = lanes + piece * width;
        std::fill_n(mine, width, C(0));
        body(piece, mine);
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

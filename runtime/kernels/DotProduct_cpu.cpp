#include "runtime/kernels/DotProduct.h"

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/VectorOps.h"

namespace tandem {
namespace {

constexpr int64_t kMostShares = 256;
constexpr int64_t kLeastLanes = 4096; ///< Of a share.

/// The one piece's outermost loop cut into shares.
std::vector<ChainPiece> sharesOf(const ChainPiece &whole) {
  std::vector<ChainPiece> shares;
  bool inside = whole.deep.loops.empty();
  const auto &outermost = inside ? whole.inner : whole.deep.loops.front();
  int64_t lanes = whole.deep.count() * whole.inner.size;
  int64_t count =
      std::min({outermost.size, kMostShares, lanes / kLeastLanes + 1});
  for (int64_t i = 0; i < count; ++i) {
    ChainPiece share = whole;
    int64_t begin = outermost.size * i / count;
    auto &loop = inside ? share.inner : share.deep.loops.front();
    loop.size = outermost.size * (i + 1) / count - begin;
    for (size_t t = 0; t < 2; ++t)
      share.first[t] += begin * outermost.strides[t];
    shares.push_back(share);
  }
  return shares;
}

} // namespace

DotProduct::DotProduct(ChainProduct given, bool fixed, int threads)
    : product(std::move(given)), fixed(fixed) {
  if (!fixed)
    product.pieces = sharesOf(product.pieces.front());
  sums.resize(product.pieces.size() * threads);
}

double DotProduct::sumOf(const ChainPiece &piece, const Offsets &at) const {
  double sum = 0;
  float left[kTileLanes], right[kTileLanes];
  for (int64_t step = 0; step < piece.deep.count(); ++step) {
    auto further = piece.deep.offsets(step);
    for (int64_t k = 0; k < piece.inner.size; k += kTileLanes) {
      int64_t n = std::min(kTileLanes, piece.inner.size - k);
      auto load = [&](const ProductMatrix &matrix, int t, float *buffer) {
        int64_t stride = piece.inner.strides[t];
        return loadTile<float>(matrix.data, matrix.type,
                               at[t] + piece.first[t] + further[t] + k * stride,
                               n, buffer, stride);
      };
      float part;
      vectorOps().dotRows[kWeightF32](&part, 1, load(product.a, 0, left), n,
                                      load(product.b, 1, right), n, 1, 1, n);
      sum += part;
    }
  }
  return fixed ? static_cast<float>(sum) : sum;
}

/// Adds the pieces' sums in a binary tree.
void DotProduct::store(double *parts, const Offsets &at) const {
  size_t count = product.pieces.size();
  for (size_t step = 1; step < count; step *= 2)
    for (size_t i = 0; i + step < count; i += 2 * step) {
      double sum = parts[i] + parts[i + step];
      parts[i] = fixed ? static_cast<float>(sum) : sum;
    }
  storeOne<double>(product.c.data, product.c.type, at[2], count ? parts[0] : 0);
}

void DotProduct::run(ThreadPool &threads) {
  auto pieces = static_cast<int64_t>(product.pieces.size());
  int64_t count = product.outer.count();
  if (count == 1) {
    Offsets start = product.outer.offsets(0);
    forRanges(threads, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sums[i] = sumOf(product.pieces[i], start);
    });
    return store(sums.data(), start);
  }
  int64_t shares = pieceCount(threads, count, 1);
  threads.run(shares, [&](int64_t share) {
    double *mine = sums.data() + share * pieces;
    for (int64_t i = count * share / shares; i < count * (share + 1) / shares;
         ++i) {
      Offsets at = product.outer.offsets(i);
      for (int64_t piece = 0; piece < pieces; ++piece)
        mine[piece] = sumOf(product.pieces[piece], at);
      store(mine, at);
    }
  });
}

} // namespace tandem

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

DotProduct::DotProduct(ChainProduct given, bool fixed)
    : product(std::move(given)), fixed(fixed) {
  if (!fixed)
    product.pieces = sharesOf(product.pieces.front());
  sums.resize(product.pieces.size());
}

double DotProduct::sumOf(const ChainPiece &piece) const {
  double sum = 0;
  float left[kTileLanes], right[kTileLanes];
  for (int64_t step = 0; step < piece.deep.count(); ++step) {
    auto at = piece.deep.offsets(step);
    for (int64_t k = 0; k < piece.inner.size; k += kTileLanes) {
      int64_t n = std::min(kTileLanes, piece.inner.size - k);
      auto load = [&](const ProductMatrix &matrix, int t, float *buffer) {
        int64_t stride = piece.inner.strides[t];
        return loadTile<float>(matrix.data, matrix.type,
                               piece.first[t] + at[t] + k * stride, n, buffer,
                               stride);
      };
      float part;
      vectorOps().dotRows[kWeightF32](&part, 1, load(product.a, 0, left), n,
                                      load(product.b, 1, right), n, 1, 1, n);
      sum += part;
    }
  }
  return fixed ? static_cast<float>(sum) : sum;
}

void DotProduct::run(ThreadPool &threads) {
  auto count = static_cast<int64_t>(sums.size());
  forRanges(threads, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      sums[i] = sumOf(product.pieces[i]);
  });
  for (int64_t step = 1; step < count; step *= 2)
    for (int64_t i = 0; i + step < count; i += 2 * step) {
      double sum = sums[i] + sums[i + step];
      sums[i] = fixed ? static_cast<float>(sum) : sum;
    }
  storeOne<double>(product.c.data, product.c.type, 0, count ? sums[0] : 0);
}

} // namespace tandem

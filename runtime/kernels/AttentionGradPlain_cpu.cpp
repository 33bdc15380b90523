#include "runtime/kernels/AttentionGradShape.h"

#include <cmath>

namespace tandem {
namespace {

/// Sum of products of `n` elements of two tensors.
double dot(const TensorArg &a, int64_t atA, const TensorArg &b, int64_t atB,
           int64_t n) {
  double bufferA[kTileLanes], bufferB[kTileLanes], sum = 0;
  for (int64_t first = 0; first < n; first += kTileLanes) {
    int64_t count = std::min(kTileLanes, n - first);
    const double *x =
        loadTile<double>(a.data, a.dtype, atA + first, count, bufferA);
    const double *y =
        loadTile<double>(b.data, b.dtype, atB + first, count, bufferB);
    for (int64_t i = 0; i < count; ++i)
      sum += x[i] * y[i];
  }
  return sum;
}

/// One query row of one key head and group.
class PlainGradQuery {
public:
  PlainGradQuery(const AttentionGradShape &shape, int64_t row, int64_t token,
                 int64_t head, int64_t group)
      : shape(shape), row(row), head(head), group(group),
        position(shape.firstPosition(row) + token),
        atQ(shape.qAt(row, token, head, group)),
        atOut(shape.outAt(row, token, head, group)),
        lse(shape.lseAt(row, token, head, group)) {
    delta = dot(shape.out, atOut, shape.dout, atOut, shape.e);
  }

  bool sees(int64_t lane) const {
    return std::isfinite(lse) && shape.visibleBegin(position) <= lane &&
           lane < shape.visibleEnd(position) && !shape.masked(row, lane);
  }

  /// The probability of a key that it sees, and the gradient of q . key.
  struct Pair {
    double probability, slope;
  };
  Pair pair(int64_t lane) const {
    double raw = shape.scale * dot(shape.q, atQ, shape.key,
                                   shape.keyAt(row, lane, head), shape.d);
    double score = raw, capSlope = 1;
    if (shape.softcap != 0) {
      double bounded = std::tanh(raw / shape.softcap);
      score = shape.softcap * bounded;
      capSlope = 1 - bounded * bounded;
    }
    int64_t index = lane + shape.key.dims[1].begin;
    score += shape.slope(head, group) * static_cast<double>(index - position);
    double probability = std::exp(score - lse);
    double along = dot(shape.dout, atOut, shape.value,
                       shape.valueAt(row, lane, head), shape.e);
    return {probability,
            shape.scale * probability * (along - delta) * capSlope};
  }

  /// Stores dq, a tile of lanes at a time so that sums stay on the stack.
  void storeGradient() const {
    for (int64_t first = 0; first < shape.d; first += kTileLanes) {
      int64_t n = std::min(kTileLanes, shape.d - first);
      double sums[kTileLanes] = {}, buffer[kTileLanes];
      for (int64_t lane = 0; lane < shape.t; ++lane) {
        if (!sees(lane))
          continue;
        double slope = pair(lane).slope;
        const double *k =
            loadTile<double>(shape.key.data, shape.key.dtype,
                             shape.keyAt(row, lane, head) + first, n, buffer);
        for (int64_t i = 0; i < n; ++i)
          sums[i] += slope * k[i];
      }
      storeTile<double>(shape.dq.data, shape.dq.dtype, atQ + first, n, sums);
    }
  }

  const AttentionGradShape &shape;
  int64_t row, head, group, position, atQ, atOut;
  double lse, delta;
};

/// Stores dkey or dvalue of one lane of one key head.
void storeKeyGradient(const AttentionGradShape &shape, int64_t row,
                      int64_t lane, int64_t head, bool ofValue) {
  const TensorArg &to = ofValue ? shape.dvalue : shape.dkey;
  const TensorArg &from = ofValue ? shape.dout : shape.q;
  int64_t at =
      ofValue ? shape.valueAt(row, lane, head) : shape.keyAt(row, lane, head);
  int64_t width = ofValue ? shape.e : shape.d;
  for (int64_t first = 0; first < width; first += kTileLanes) {
    int64_t n = std::min(kTileLanes, width - first);
    double sums[kTileLanes] = {}, buffer[kTileLanes];
    for (int64_t i = 0; i < shape.s * shape.g; ++i) {
      PlainGradQuery query(shape, row, i / shape.g, head, i % shape.g);
      if (!query.sees(lane))
        continue;
      auto [probability, slope] = query.pair(lane);
      double factor = ofValue ? probability : slope;
      const double *x = loadTile<double>(
          from.data, from.dtype, (ofValue ? query.atOut : query.atQ) + first, n,
          buffer);
      for (int64_t l = 0; l < n; ++l)
        sums[l] += factor * x[l];
    }
    storeTile<double>(to.data, to.dtype, at + first, n, sums);
  }
}

} // namespace

std::unique_ptr<Launch>
preparePlainAttentionGrad(const AttentionGradShape &shape,
                          ThreadPool &threads) {
  return makeLaunch([shape, &threads] {
    int64_t heads = shape.k * shape.g, queries = shape.b * shape.s * heads;
    forRanges(threads, queries, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        PlainGradQuery(shape, i / heads / shape.s, i / heads % shape.s,
                       i % heads / shape.g, i % shape.g)
            .storeGradient();
    });
    int64_t keys = shape.b * shape.t * shape.k;
    forRanges(threads, keys, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (bool ofValue : {false, true})
          storeKeyGradient(shape, i / shape.k / shape.t, i / shape.k % shape.t,
                           i % shape.k, ofValue);
    });
    return Status();
  });
}

} // namespace tandem

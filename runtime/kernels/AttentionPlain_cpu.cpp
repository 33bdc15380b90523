#include "runtime/kernels/AttentionShape.h"

#include <cmath>
#include <limits>

namespace tandem {

namespace {

/// One query row in float64, keys one by one.
class PlainQuery {
public:
  PlainQuery(const AttentionShape &shape, int64_t row, int64_t token,
             int64_t head, int64_t group)
      : shape(shape), row(row), token(token), head(head), group(group),
        position(shape.firstPosition(row) + token) {}

  void run() const {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    forVisible([&](int64_t lane) { largest = std::max(largest, score(lane)); });
    forVisible([&](int64_t lane) { sum += std::exp(score(lane) - largest); });
    std::byte *to = shape.out.data;
    int64_t at = shape.outAt(row, token, head, group);
    // A tile of the output's lanes at a time, so that sums stay on the stack.
    for (int64_t first = 0; first < shape.e; first += kTileLanes) {
      int64_t n = std::min(kTileLanes, shape.e - first);
      double sums[kTileLanes] = {}, buffer[kTileLanes];
      forVisible([&](int64_t lane) {
        double weight = std::exp(score(lane) - largest);
        const double *v =
            loadTile<double>(shape.value.data, shape.value.dtype,
                             shape.valueAt(row, lane, head) + first, n, buffer);
        for (int64_t i = 0; i < n; ++i)
          sums[i] += weight * v[i];
      });
      for (int64_t i = 0; i < n; ++i)
        sums[i] = sum > 0 ? sums[i] / sum : 0;
      storeTile<double>(to, shape.out.dtype, at + first, n, sums);
    }
    shape.storeLse(row, token, head, group, largest + std::log(sum));
  }

private:
  template <typename Body> void forVisible(const Body &body) const {
    int64_t end = shape.visibleEnd(position);
    for (int64_t lane = shape.visibleBegin(position); lane < end; ++lane)
      if (!shape.masked(row, lane))
        body(lane);
  }

  double score(int64_t lane) const {
    double bufferQ[kTileLanes], bufferK[kTileLanes], sum = 0;
    for (int64_t first = 0; first < shape.d; first += kTileLanes) {
      int64_t n = std::min(kTileLanes, shape.d - first);
      const double *x = loadTile<double>(
          shape.q.data, shape.q.dtype,
          shape.qAt(row, token, head, group) + first, n, bufferQ);
      const double *y =
          loadTile<double>(shape.key.data, shape.key.dtype,
                           shape.keyAt(row, lane, head) + first, n, bufferK);
      for (int64_t i = 0; i < n; ++i)
        sum += x[i] * y[i];
    }
    sum *= shape.scale;
    if (shape.softcap != 0)
      sum = shape.softcap * std::tanh(sum / shape.softcap);
    int64_t index = lane + shape.key.dims[1].begin;
    return sum + shape.slope(head, group) * (index - position);
  }

  const AttentionShape &shape;
  int64_t row, token, head, group, position;
};

} // namespace

std::unique_ptr<Launch> preparePlainAttention(const AttentionShape &shape,
                                              ThreadPool &threads) {
  return makeLaunch([shape, &threads] {
    int64_t total = shape.b * shape.s * shape.k * shape.g;
    forRanges(threads, total, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t heads = shape.k * shape.g, token = i / heads;
        PlainQuery(shape, token / shape.s, token % shape.s, i % heads / shape.g,
                   i % shape.g)
            .run();
      }
    });
    return Status();
  });
}

} // namespace tandem

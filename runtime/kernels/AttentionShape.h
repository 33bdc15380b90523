//===- AttentionShape.h - What attention's loops share ----------*- C++ -*-===//
//
// Extents, strides and attributes of one attention call, and who sees whom.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_ATTENTIONSHAPE_H
#define TANDEM_RUNTIME_KERNELS_ATTENTIONSHAPE_H

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Tiles.h"

#include <limits>

namespace tandem {

/// The score of a key that a query does not see.
constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

/// Scores of `rows` query rows (tokens from `token` on, each with all its
/// groups) of one key head against the `keys` lanes from `firstKey` on.
struct ScoreBlock {
  int64_t row, head, token, rows, firstKey, keys;
};

struct AttentionShape {
  explicit AttentionShape(const KernelCall &call);

  TensorArg q, key, value, positions, mask, slopes, out, lse;
  bool hasMask = false, hasSlopes = false, hasLse = false;
  // Valid extents, by the letters of the contract.
  int64_t b, s, k, g, d, e, t;
  std::vector<int64_t> qStride, keyStride, valueStride, outStride, lseStride;
  double scale = 1, softcap = 0;
  bool causal = false;
  int64_t window = 0;

  /// The position of query 0 of a row.
  int64_t firstPosition(int64_t row) const {
    return loadOne<int64_t>(positions.data, positions.dtype, row) +
           q.dims[1].begin;
  }
  /// Lanes of keys that a query at `position` may see: [begin, end).
  int64_t visibleBegin(int64_t position) const {
    if (window == 0)
      return 0;
    return clip(position - window + 1 - key.dims[1].begin);
  }
  int64_t visibleEnd(int64_t position) const {
    return causal ? clip(position + 1 - key.dims[1].begin) : t;
  }
  bool masked(int64_t row, int64_t lane) const {
    return hasMask && loadOne<int64_t>(mask.data, mask.dtype,
                                       row * mask.dims[1].capacity + lane) == 0;
  }
  double slope(int64_t keyHead, int64_t group) const {
    return hasSlopes
               ? loadOne<double>(slopes.data, slopes.dtype,
                                 keyHead * slopes.dims[1].capacity + group)
               : 0;
  }
  int64_t qAt(int64_t row, int64_t token, int64_t head, int64_t group) const {
    return row * qStride[0] + token * qStride[1] + head * qStride[2] +
           group * qStride[3];
  }
  int64_t keyAt(int64_t row, int64_t lane, int64_t head) const {
    return row * keyStride[0] + lane * keyStride[1] + head * keyStride[2];
  }
  int64_t valueAt(int64_t row, int64_t lane, int64_t head) const {
    return row * valueStride[0] + lane * valueStride[1] + head * valueStride[2];
  }
  int64_t outAt(int64_t row, int64_t token, int64_t head, int64_t group) const {
    return row * outStride[0] + token * outStride[1] + head * outStride[2] +
           group * outStride[3];
  }
  /// Makes scale * q . key the scores of the contract: softcap, slopes, and
  /// kHiddenScore where a query does not see a key. `capSlopes`, where given,
  /// becomes the derivative of the softcap. Rows are `stride` apart.
  void adjustScores(const ScoreBlock &block, float *scores, int64_t stride,
                    float *capSlopes = nullptr) const;

  void storeLse(int64_t row, int64_t token, int64_t head, int64_t group,
                double result) const {
    if (hasLse)
      storeOne<double>(lse.data, lse.dtype,
                       row * lseStride[0] + token * lseStride[1] +
                           head * lseStride[2] + group * lseStride[3],
                       result);
  }

private:
  void capScores(float *scores, int64_t n, float *capSlopes) const;
  int64_t clip(int64_t lane) const {
    return std::max<int64_t>(std::min(lane, t), 0);
  }
};

/// `n` rows of `width` elements from element `at` on, as floats: the tensor's
/// own where it holds floats, else copies in `to`; `stride` is set to theirs.
const float *widenedRows(const TensorArg &from, int64_t at, int64_t &stride,
                         int64_t n, int64_t width, float *to);

/// Query by query in float64.
std::unique_ptr<Launch> preparePlainAttention(const AttentionShape &shape,
                                              ThreadPool &threads);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_ATTENTIONSHAPE_H

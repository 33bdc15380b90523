#include "runtime/kernels/AttentionShape.h"

#include "runtime/kernels/MapOp.h"
#include "runtime/kernels/VectorOps.h"

namespace tandem {

AttentionShape::AttentionShape(const KernelCall &call)
    : q(call.inputs[0]), key(call.inputs[1]), value(call.inputs[2]),
      positions(call.inputs[3]), out(call.outputs[0]) {
  hasMask = call.numbers[4] & 1;
  hasSlopes = call.numbers[4] & 2;
  hasLse = call.outputs.size() == 2;
  if (hasMask)
    mask = call.inputs[4];
  if (hasSlopes)
    slopes = call.inputs.back();
  if (hasLse) {
    lse = call.outputs[1];
    lseStride = stridesOf(lse);
  }
  b = q.dims[0].valid;
  s = q.dims[1].valid;
  k = q.dims[2].valid;
  g = q.dims[3].valid;
  d = q.dims[4].valid;
  e = value.dims[3].valid;
  t = std::min(key.dims[1].valid, value.dims[1].valid);
  qStride = stridesOf(q);
  keyStride = stridesOf(key);
  valueStride = stridesOf(value);
  outStride = stridesOf(out);
  scale = numberToDouble(call.numbers[0]);
  causal = call.numbers[1] != 0;
  window = call.numbers[2];
  softcap = numberToDouble(call.numbers[3]);
}

void AttentionShape::capScores(float *scores, int64_t n,
                               float *capSlopes) const {
  float cap = static_cast<float>(softcap);
  vectorOps().scale(scores, scores, 1 / cap, n);
  vectorOps().unary[kMapTanh](scores, scores, n);
  if (capSlopes)
    for (int64_t j = 0; j < n; ++j)
      capSlopes[j] = 1 - scores[j] * scores[j];
  vectorOps().scale(scores, scores, cap, n);
}

void AttentionShape::adjustScores(const ScoreBlock &block, float *scores,
                                  int64_t stride, float *capSlopes) const {
  int64_t first = block.firstKey, n = block.keys;
  int64_t position = firstPosition(block.row) + block.token;
  for (int64_t r = 0; r < block.rows; ++r) {
    float *score = scores + r * stride;
    int64_t at = position + r / g;
    if (softcap != 0)
      capScores(score, n, capSlopes ? capSlopes + r * stride : nullptr);
    if (hasSlopes) {
      float perKey = static_cast<float>(slope(block.head, r % g));
      int64_t distance = first + key.dims[1].begin - at;
      for (int64_t j = 0; j < n; ++j)
        score[j] += perKey * static_cast<float>(distance + j);
    }
    int64_t low = std::min(visibleBegin(at) - first, n);
    int64_t high = std::max<int64_t>(visibleEnd(at) - first, 0);
    for (int64_t j = 0; j < low; ++j)
      score[j] = kHiddenScore;
    for (int64_t j = high; j < n; ++j)
      score[j] = kHiddenScore;
    if (hasMask)
      for (int64_t j = 0; j < n; ++j)
        if (masked(block.row, first + j))
          score[j] = kHiddenScore;
  }
}

const float *widenedRows(const TensorArg &from, int64_t at, int64_t &stride,
                         int64_t n, int64_t width, float *to) {
  if (from.dtype == DType::F32)
    return reinterpret_cast<const float *>(from.data) + at;
  for (int64_t i = 0; i < n; ++i)
    loadTile<float>(from.data, from.dtype, at + i * stride, width,
                    to + i * width);
  stride = width;
  return to;
}

} // namespace tandem

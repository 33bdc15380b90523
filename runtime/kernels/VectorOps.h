//===- VectorOps.h - Inner loops, one build per instruction set -*- C++ -*-===//
//
// The library is compiled for baseline x86-64 (or another CPU). The loops in
// which kernels spend their time are compiled again for AVX2+FMA+F16C and for
// AVX-512 (VectorOps.inc), and one table is chosen when the program starts:
//
//   const VectorOps &ops = vectorOps();
//   float total = ops.sumSquares(row, n);
//
// Every function works on contiguous lanes, accepts n = 0 and unaligned
// addresses, reads and writes exactly n lanes, and adds in an order that
// depends on n alone: the same bits on every call. Another instruction set may
// give other last bits.
//
// Accuracy, in units in the last place of float32, against float64 over the
// whole range (test/unit/kernels/VectorOpsTest.cpp): exp, log and tanh 3;
// sigmoid, silu and erf 4; gelu 48 in its negative tail, where the exponent's
// own rounding counts, down to results of 1e-6 of the argument; gradients of
// silu and gelu 1e-6 of the incoming one.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_VECTOROPS_H
#define TANDEM_RUNTIME_KERNELS_VECTOROPS_H

#include <stdint.h>

namespace tandem {

/// Element types that the product loops read weights in.
enum WeightKind { kWeightF32 = 0, kWeightBF16 = 1, kWeightF16 = 2 };

/// Rows that dotRows and addRows take at most.
constexpr int kMaxProductRows = 7;

/// One row of a norm: normal = (x - mean) * factor, y = normal * (offset +
/// weight). With g = dy * (offset + weight), meanPlain and meanNormal are the
/// row's means of g (0 where the norm subtracts no mean) and of g * normal.
template <typename C> struct NormGradTerms {
  C mean, factor, offset, meanPlain, meanNormal;
};

/// m = beta1 m + rest1 g', v = beta2 v + rest2 g'^2, p = keep p - rate m /
/// (root sqrt(v) + epsilon), with g' = scale g.
template <typename C> struct AdamTerms {
  C scale, keep, beta1, rest1, beta2, rest2, rate, root, epsilon;
};

/// m = momentum m + (scale g + decay p), p = p - rate m.
template <typename C> struct SgdTerms {
  C scale, decay, momentum, rate;
};

struct VectorOps {
  const char *name; ///< `baseline`, `avx2`, `avx512`.

  void (*widenBF16)(float *out, const uint16_t *in, int64_t n);
  void (*widenF16)(float *out, const uint16_t *in, int64_t n);
  void (*narrowBF16)(uint16_t *out, const float *in, int64_t n);
  void (*narrowF16)(uint16_t *out, const float *in, int64_t n);

  /// out[m * outStride + j] = sum over k of x[m * xStride + k] *
  /// w[j * wStride + k], for `rows` (1 to kMaxProductRows) m, `columns` j and
  /// `depth` k. Streams w once. Indexed by WeightKind.
  void (*dotRows[3])(float *out, int64_t outStride, const float *x,
                     int64_t xStride, const void *w, int64_t wStride, int rows,
                     int64_t columns, int64_t depth);
  /// out[m * outStride + j] += sum over k of x[m * xStride + k] *
  /// w[k * wStride + j]. Streams w once.
  void (*addRows[3])(float *out, int64_t outStride, const float *x,
                     int64_t xStride, const void *w, int64_t wStride, int rows,
                     int64_t columns, int64_t depth);

  /// Products as chains (ChainProduct.h), a tile of at most chainRows rows and
  /// chainColumns columns: sums[r * sumStride + j] = (more ? itself : 0) + the
  /// sum, term by term, of a[r * rowStride + k * depthStride] * b[k *
  /// chainColumns + j].
  int chainRows, chainColumns;
  void (*chain)(float *sums, int64_t sumStride, const float *a,
                int64_t rowStride, int64_t depthStride, const float *b,
                int64_t depth, bool more, int rows);
  /// Panels of chainColumns columns for it, the last one filled up with
  /// zeros: out[p * panelStride + k * chainColumns + j] = in[k * stride + p *
  /// chainColumns + j].
  void (*chainPack)(float *out, int64_t panelStride, const float *in,
                    int64_t stride, int64_t columns, int64_t depth);
  /// One panel: out[k * chainColumns + j] = in[j * stride + k].
  void (*chainPackTurned)(float *out, const float *in, int64_t stride,
                          int64_t columns, int64_t depth);

  float (*sum)(const float *in, int64_t n);
  float (*sumSquares)(const float *in, int64_t n);
  /// Sum of (in - mean)^2.
  float (*sumDeviations)(const float *in, float mean, int64_t n);
  /// The largest lane, -inf for n = 0; NaN lanes are passed over.
  float (*max)(const float *in, int64_t n);
  /// out = exp(in - shift); returns the sum of out. May be in place.
  float (*expSum)(float *out, const float *in, float shift, int64_t n);
  void (*scale)(float *out, const float *in, float factor, int64_t n);
  /// out = in * factor * (offset + weight).
  void (*scaleByWeight)(float *out, const float *in, const float *weight,
                        float factor, float offset, int64_t n);
  /// out = (in - mean) * factor * weight + bias; `bias` may be null.
  void (*normalise)(float *out, const float *in, const float *weight,
                    const float *bias, float mean, float factor, int64_t n);

  /// cosine[i], sine[i] of position * frequency[i], times `factor`; the angle
  /// is reduced in double.
  void (*angles)(float *cosine, float *sine, const double *frequency,
                 double position, double factor, int64_t n);
  /// Rotates pairs (a[i], b[i]): outA = a cos - b sin, outB = b cos + a sin.
  void (*rotate)(float *outA, float *outB, const float *a, const float *b,
                 const float *cosine, const float *sine, int64_t n);

  /// Adds the sums of g and of g * normal to sums[0] and sums[1].
  void (*normGradSums)(float *sums, const float *dy, const float *x,
                       const float *weight, const NormGradTerms<float> &terms,
                       int64_t n);
  /// dx = factor * (g - meanPlain - normal * meanNormal); dw += dy * normal;
  /// db += dy, unless it is null. dx may be dy or x.
  void (*normGrad)(float *dx, float *dw, float *db, const float *dy,
                   const float *x, const float *weight,
                   const NormGradTerms<float> &terms, int64_t n);
  /// out = p * (slope - delta), 0 where p is 0. May be in place.
  void (*softmaxGrad)(float *out, const float *p, const float *slope,
                      float delta, int64_t n);
  /// in: p, m, v, g; out: p, m, v. May be in place.
  void (*adamw)(float *const *out, const float *const *in,
                const AdamTerms<float> &terms, int64_t n);
  /// in: p, m, g; out: p, m. May be in place.
  void (*sgd)(float *const *out, const float *const *in,
              const SgdTerms<float> &terms, int64_t n);

  /// Elementwise functions by MapOp; null where a loop in Map_cpu.cpp does.
  void (*unary[64])(float *out, const float *in, int64_t n);
  void (*binary[64])(float *out, const float *a, const float *b, int64_t n);
};

enum class VectorLevel { Baseline, Avx2, Avx512 };

/// The loops for the best level that this CPU has; TANDEM_VECTOR=baseline or
/// avx2 lowers it (to compare, or to reproduce another machine's bits).
const VectorOps &vectorOps();
/// The loops of one level, null where this CPU or build lacks it.
const VectorOps *vectorOpsOf(VectorLevel level);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_VECTOROPS_H

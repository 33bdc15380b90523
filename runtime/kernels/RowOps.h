//===- RowOps.h - VectorOps for float, plain loops for double ---*- C++ -*-===//
//
// Row kernels are written once for C = float or double; these overloads pick
// the vectorised loop where there is one.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_ROWOPS_H
#define TANDEM_RUNTIME_KERNELS_ROWOPS_H

#include "runtime/kernels/MapOp.h"
#include "runtime/kernels/VectorOps.h"

#include <cmath>
#include <limits>

namespace tandem {

inline float rowSum(const float *in, int64_t n) {
  return vectorOps().sum(in, n);
}
inline double rowSum(const double *in, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += in[i];
  return sum;
}

inline float rowSumSquares(const float *in, int64_t n) {
  return vectorOps().sumSquares(in, n);
}
inline double rowSumSquares(const double *in, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += in[i] * in[i];
  return sum;
}

inline float rowSumDeviations(const float *in, float mean, int64_t n) {
  return vectorOps().sumDeviations(in, mean, n);
}
inline double rowSumDeviations(const double *in, double mean, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += (in[i] - mean) * (in[i] - mean);
  return sum;
}

inline float rowMax(const float *in, int64_t n) {
  return vectorOps().max(in, n);
}
inline double rowMax(const double *in, int64_t n) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i)
    largest = in[i] > largest ? in[i] : largest;
  return largest;
}

inline float rowExpSum(float *out, const float *in, float shift, int64_t n) {
  return vectorOps().expSum(out, in, shift, n);
}
inline double rowExpSum(double *out, const double *in, double shift,
                        int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += out[i] = std::exp(in[i] - shift);
  return sum;
}

inline void rowScale(float *out, const float *in, float factor, int64_t n) {
  vectorOps().scale(out, in, factor, n);
}
inline void rowScale(double *out, const double *in, double factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = in[i] * factor;
}

inline void rowAdd(float *sums, const float *in, int64_t n) {
  vectorOps().binary[kMapAdd](sums, sums, in, n);
}
inline void rowAdd(double *sums, const double *in, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    sums[i] += in[i];
}

inline void rowScaleByWeight(float *out, const float *in, const float *weight,
                             float factor, float offset, int64_t n) {
  vectorOps().scaleByWeight(out, in, weight, factor, offset, n);
}
inline void rowScaleByWeight(double *out, const double *in,
                             const double *weight, double factor, double offset,
                             int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = in[i] * factor * (offset + weight[i]);
}

inline void rowNormalise(float *out, const float *in, const float *weight,
                         const float *bias, float mean, float factor,
                         int64_t n) {
  vectorOps().normalise(out, in, weight, bias, mean, factor, n);
}
inline void rowNormalise(double *out, const double *in, const double *weight,
                         const double *bias, double mean, double factor,
                         int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = (in[i] - mean) * factor * weight[i] + (bias ? bias[i] : 0);
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_ROWOPS_H

//===- TrainingRows.h - RowOps of gradients and optimizers ------*- C++ -*-===//
//
// As RowOps.h: the vectorised loop for float, a plain one for double. What
// the terms mean stands in VectorOps.h.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_TRAININGROWS_H
#define TANDEM_RUNTIME_KERNELS_TRAININGROWS_H

#include "runtime/kernels/VectorOps.h"

#include <cmath>

namespace tandem {

inline void rowNormGradSums(float *sums, const float *dy, const float *x,
                            const float *weight,
                            const NormGradTerms<float> &terms, int64_t n) {
  vectorOps().normGradSums(sums, dy, x, weight, terms, n);
}
inline void rowNormGradSums(double *sums, const double *dy, const double *x,
                            const double *weight,
                            const NormGradTerms<double> &terms, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double g = dy[i] * (terms.offset + weight[i]);
    sums[0] += g;
    sums[1] += g * (x[i] - terms.mean) * terms.factor;
  }
}

inline void rowNormGrad(float *dx, float *dw, float *db, const float *dy,
                        const float *x, const float *weight,
                        const NormGradTerms<float> &terms, int64_t n) {
  vectorOps().normGrad(dx, dw, db, dy, x, weight, terms, n);
}
inline void rowNormGrad(double *dx, double *dw, double *db, const double *dy,
                        const double *x, const double *weight,
                        const NormGradTerms<double> &terms, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double up = dy[i], normal = (x[i] - terms.mean) * terms.factor;
    double g = up * (terms.offset + weight[i]);
    dx[i] = terms.factor * (g - terms.meanPlain - normal * terms.meanNormal);
    dw[i] += up * normal;
    if (db)
      db[i] += up;
  }
}

inline void rowStep(float *const *out, const float *const *in,
                    const AdamTerms<float> &terms, int64_t n) {
  vectorOps().adamw(out, in, terms, n);
}
inline void rowStep(double *const *out, const double *const *in,
                    const AdamTerms<double> &terms, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double g = in[3][i] * terms.scale;
    double m = terms.beta1 * in[1][i] + terms.rest1 * g;
    double v = terms.beta2 * in[2][i] + terms.rest2 * g * g;
    out[0][i] = terms.keep * in[0][i] -
                terms.rate * m / (std::sqrt(v) * terms.root + terms.epsilon);
    out[1][i] = m;
    out[2][i] = v;
  }
}

inline void rowStep(float *const *out, const float *const *in,
                    const SgdTerms<float> &terms, int64_t n) {
  vectorOps().sgd(out, in, terms, n);
}
inline void rowStep(double *const *out, const double *const *in,
                    const SgdTerms<double> &terms, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double p = in[0][i];
    double m =
        terms.momentum * in[1][i] + in[2][i] * terms.scale + terms.decay * p;
    out[0][i] = p - terms.rate * m;
    out[1][i] = m;
  }
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_TRAININGROWS_H

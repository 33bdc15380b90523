//===- NormGrad.h - rms_norm_grad, layer_norm_grad --------------*- C++ -*-===//
//
// rms_norm_grad    x[..., d], weight[d], dy[..., d] -> dx[..., d], dw[d]
//                  numbers [eps, offset] or [eps, offset, pieces, dims]
// layer_norm_grad  x[..., d], weight[d], dy[..., d]
//                  -> dx[..., d], dw[d] (, db[d])
//                  numbers [eps] or [eps, pieces, dims]
//
// Of y as Norm.h has it: with normal = (x - mean) / sqrt(variance + eps) (rms:
// x / sqrt(mean(x^2) + eps)) and g = dy * (offset + weight),
//
//   dx = (g - mean(g) - normal * mean(g * normal)) / sqrt(variance + eps)
//   dw = sum over all rows of dy * normal;  db = sum over all rows of dy
//
// (rms: without mean(g)). Means over the valid lanes of d, sums over the valid
// rows. Floats, mixed freely; float32 inside (x f64: float64). dx may be the
// memory of x or dy.
//
// With `pieces`, each dimension i with bit i set in `dims` is cut at fixed
// global boundaries (PieceCut.h) and the bits of dw and db do not depend on
// the layout; else rows are cut by their number (PieceSums.h).
//
// workspace: n * d * (db ? 2 : 1) values of 4 bytes (x f64: 8), n this rank's
// pieces: without numbers ceil(rows / 32), 1 to 64, rows the product of x's
// capacities but d's.
// bytes: x four times (three from cache), dy twice (once from cache), dx once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_NORMGRAD_H
#define TANDEM_RUNTIME_KERNELS_NORMGRAD_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &rmsNormGradKernel();
const Kernel &layerNormGradKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_NORMGRAD_H

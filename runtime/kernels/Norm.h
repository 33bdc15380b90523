//===- Norm.h - rms_norm, layer_norm ----------------------------*- C++ -*-===//
//
// rms_norm    x[..., d], weight[d] -> y           numbers [eps, offset]
//             y = x / sqrt(mean(x^2) + eps) * (offset + weight)
// layer_norm  x[..., d], weight[d] (, bias[d]) -> y   numbers [eps]
//             y = (x - mean) / sqrt(variance + eps) * weight + bias
//
// Means over the valid lanes of d. Floats, mixed freely; statistics in
// float32 (f64: float64). May be in place. No workspace; moves x twice (the
// second time from cache), y once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_NORM_H
#define TANDEM_RUNTIME_KERNELS_NORM_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &rmsNormKernel();
const Kernel &layerNormKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_NORM_H

//===- Softmax.h - softmax --------------------------------------*- C++ -*-===//
//
// softmax  in[..., d] -> out      numbers []
//          out = exp(in - max) / sum, over the valid lanes of d
//
// Floats of one type; float32 inside (f64: float64). A row of -inf gives NaN,
// as the formula does. May be in place. No workspace; moves in three times
// (twice from cache), out once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_SOFTMAX_H
#define TANDEM_RUNTIME_KERNELS_SOFTMAX_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &softmaxKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_SOFTMAX_H

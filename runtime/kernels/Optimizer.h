//===- Optimizer.h - adamw, sgd ---------------------------------*- C++ -*-===//
//
// adamw  p, m, v, g, scale, learning_rate, beta1, beta2, epsilon,
//        weight_decay, step i32 -> p', m', v'        numbers [decay]
//
//   g' = scale g
//   p1 = p (1 - learning_rate weight_decay)   where decay is 1, else p
//   m' = beta1 m + (1 - beta1) g';  v' = beta2 v + (1 - beta2) g'^2
//   p' = p1 - learning_rate (m' / (1 - beta1^step)) /
//             (sqrt(v' / (1 - beta2^step)) + epsilon)
//
// sgd    p, m, g, scale, learning_rate, momentum, weight_decay -> p', m'
//        numbers [decay]
//
//   g' = scale g + weight_decay p   where decay is 1, else scale g
//   m' = momentum m + g';  p' = p - learning_rate m'
//
// p, m, v and g have one shape; the others have no dimension. step is 1 in the
// first step. Floats, mixed freely; float32 inside, what does not depend on
// the lane in float64 (p f64: all in float64). Results may be the memory of
// the operands that they replace. A lane's bits depend on its values alone.
// No workspace; moves p, m, v twice, g once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_OPTIMIZER_H
#define TANDEM_RUNTIME_KERNELS_OPTIMIZER_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &adamwKernel();
const Kernel &sgdKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_OPTIMIZER_H

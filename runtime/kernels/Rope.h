//===- Rope.h - rope: rotary positions --------------------------*- C++ -*-===//
//
// rope  x[b, s, h..., d], positions[b] i32 -> y
//       numbers [style, rotaryDim, scale, freq_0 ... freq_{rotaryDim/2 - 1}]
//
// Token i of row b is at p = positions[b] + begin_s + i. Each pair of lanes
// (a, c) is turned by the angle p * freq_j:
//
//   a' = scale * (a cos - c sin)     style 0: (a, c) = lanes (j, j +
//   rotaryDim/2) c' = scale * (c cos + a sin)     style 1: lanes (2j, 2j + 1)
//
// Lanes from rotaryDim on are copied. scale and freq_j are doubles as bits.
// Floats of one type; angles are formed in double, turned in float32 (f64:
// float64). May be in place. No workspace (rotaryDim <= 1024); moves x and y
// once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_ROPE_H
#define TANDEM_RUNTIME_KERNELS_ROPE_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &ropeKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_ROPE_H

//===- Sample.h - sample: the next token id ---------------------*- C++ -*-===//
//
// sample  logits[b, v], temperature[b] f32, top_k[b] i32, top_p[b] f32,
//         seed[b] i64, positions[b] i32 -> ids[b] i32        numbers []
//
// temperature <= 0 (or NaN): the id of the largest logit, among equals the
// lowest. Otherwise, in this order:
//   1. the top_k largest logits (0 or less: all), ties to the lower id
//   2. softmax of logits / temperature over them
//   3. the shortest descending prefix with mass >= top_p (>= 1: all of them)
//   4. one uniform number chooses by the inverse of the cumulative mass
// The number is Philox4x32-10 of counter (position low, position high, row, 0)
// and key `seed`, where row is the global index of b and position is
// positions[b]: batch, layout and threads change nothing. NaN logits have no
// mass; ids count from begin of v.
//
// workspace: 8 bytes * v for each thread. bytes: logits once or twice.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_SAMPLE_H
#define TANDEM_RUNTIME_KERNELS_SAMPLE_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &sampleKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_SAMPLE_H

//===- CrossEntropy.h - cross_entropy, cross_entropy_grad -------*- C++ -*-===//
//
// cross_entropy       logits[..., v], labels[...] i32 -> loss[...], lse[...]
//                     numbers [ignored]
//                     lse = log(sum exp(logits)), over the valid lanes of v
//                     loss = lse - logits[label], 0 where label == ignored
// cross_entropy_grad  logits[..., v], labels[...] i32, lse[...], g[...]
//                     -> dlogits[..., v]      numbers [ignored]
//                     dlogits = (exp(logits - lse) - (lane == label)) * g,
//                     0 where label == ignored, whatever logits and g are
//
// Labels are global. cross_entropy needs the whole of v on one rank;
// cross_entropy_grad may have a part of it and gives the gradient of its own
// lanes. A label outside [0, global) other than `ignored` is an error that
// names it, before anything is written.
//
// Floats, mixed freely; float32 inside, sums of tiles in float64 (logits f64:
// all in float64). dlogits may be the memory of logits. No workspace; moves
// logits three times (twice from cache), dlogits once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_CROSSENTROPY_H
#define TANDEM_RUNTIME_KERNELS_CROSSENTROPY_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &crossEntropyKernel();
const Kernel &crossEntropyGradKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_CROSSENTROPY_H

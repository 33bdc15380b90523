//===- Rearrange.h - Kernels that only move elements ------------*- C++ -*-===//
//
// All take one tensor (concat: one or more) of any type to one of the same
// type; no workspace; they move the output once.
//
// transpose  numbers perm            out dim i is in dim perm[i]
// reshape    numbers []              the valid lanes in row-major order
// slice      numbers starts, steps   out[i] = in[start + step * i], per dim
// concat     numbers [dim]           the inputs one after another along dim
// pad        numbers lows, highs, value (a double as bits)
//                                    out[i] = in[i - low], `value` where there
//                                    is none
// take_own   numbers []              this rank's piece of a larger piece
//
// Indices of slice, concat, pad and take_own are global: lane i of a tensor
// has index begin + i. A lane whose source this rank does not hold becomes
// zero, so that the ranks' results add up to the whole.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_REARRANGE_H
#define TANDEM_RUNTIME_KERNELS_REARRANGE_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &transposeKernel();
const Kernel &reshapeKernel();
const Kernel &sliceKernel();
const Kernel &concatKernel();
const Kernel &padKernel();
const Kernel &takeOwnKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_REARRANGE_H

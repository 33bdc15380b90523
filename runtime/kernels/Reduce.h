//===- Reduce.h - reduce, cumulative_sum ------------------------*- C++ -*-===//
//
// reduce          in -> out      numbers [kind]: 0 sum, 1 max, 2 min;
//                                or [kind, pieces, factors]
//                 Over the valid lanes of the dimensions whose factor the
//                 output lacks; the others keep their order. Nothing to reduce
//                 gives 0, or the type's lowest or highest value (-inf, inf).
//                 With pieces, bits do not depend on the layout: each factor f
//                 with bit f set in `factors` is cut at fixed global boundaries
//                 (PieceCut.h), the parts rounded to the type (f32 or f64) and
//                 combined in a binary tree.
// cumulative_sum  in -> out      numbers [dim, exclusive, reverse]
//
// Any type to the same type. Floats add in double, integers in int64, in the
// order of memory. max and min give NaN where a lane is NaN. No workspace;
// bytes: in + out.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_REDUCE_H
#define TANDEM_RUNTIME_KERNELS_REDUCE_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &reduceKernel();
const Kernel &cumulativeSumKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_REDUCE_H

//===- Map.h - map: elementwise programs ------------------------*- C++ -*-===//
//
// map  inputs -> out       numbers: pairs [opcode, immediate] (MapOp.h)
//
// A postfix program evaluated for each lane of `out`; it leaves one value.
// Each input's factors are some of the output's, in their order; dimensions
// that it lacks are repeated.
//
//   silu(gate) * up:  [Input 0][Silu][Input 1][Mul]
//   x + bias:         x [b,s,d], bias [d]:  [Input 0][Input 1][Add]
//
// Any types. Booleans aside, it computes in float where all tensors are f32,
// f16 or bf16, in int64 where all are integers, else in double. The output is
// converted: floats to integers toward zero and clipped, NaN to 0.
// `out` may be the memory of an input that has its shape and type.
//
// workspace: none. bytes: inputs + out. Programs run a tile of 512 lanes at a
// time, so that what lies between operations stays in the L1 cache.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_MAP_H
#define TANDEM_RUNTIME_KERNELS_MAP_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/MapOp.h"

namespace tandem {

/// Values that a program may have on its stack at once.
constexpr int kMapStack = 12;

/// How many values an opcode pops, -1 for an unknown one.
int mapOperands(int64_t opcode);

const Kernel &mapKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_MAP_H

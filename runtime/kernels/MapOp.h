//===- MapOp.h - Opcodes of elementwise programs ----------------*- C++ -*-===//
//
// A map's numbers are a postfix program of pairs [opcode, immediate]; plans
// store the opcodes, so their values are stable.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_MAPOP_H
#define TANDEM_RUNTIME_KERNELS_MAPOP_H

namespace tandem {

enum MapOp {
  kMapInput = 0, ///< Pushes input `immediate`.
  kMapConst = 1, ///< Pushes the double whose bits are `immediate`.
  // Binary: pops b, then a; pushes a op b.
  kMapAdd = 2,
  kMapSub = 3,
  kMapMul = 4,
  kMapDiv = 5, ///< Integers: toward zero; by zero gives 0.
  kMapMax = 6, ///< NaN where either is NaN.
  kMapMin = 7,
  kMapPow = 8,
  // Unary.
  kMapNeg = 9,
  kMapAbs = 10,
  kMapExp = 11,
  kMapLog = 12,
  kMapSqrt = 13,
  kMapRsqrt = 14,
  kMapTanh = 15,
  kMapErf = 16,
  kMapSigmoid = 17,
  kMapSilu = 18,
  kMapGeluErf = 19,
  kMapGeluTanh = 20,
  kMapSin = 21,
  kMapCos = 22,
  kMapRelu = 23,
  kMapReciprocal = 24,
  kMapFloor = 25,
  kMapGeluQuick = 26, ///< x * sigmoid(1.702 x)
  // Comparisons push 1 or 0.
  kMapCmpEq = 30,
  kMapCmpNe = 31,
  kMapCmpLt = 32,
  kMapCmpLe = 33,
  kMapCmpGt = 34,
  kMapCmpGe = 35,
  kMapSelect = 36, ///< Pops b, a, condition; pushes condition ? a : b.
  kMapAnd = 37,    ///< Of truth values: 0 is false.
  kMapOr = 38,
  kMapNot = 39,
  kMapRem = 40, ///< Sign of the dividend; integers by zero give 0.
  // Binary: pops dy, then x; pushes dy times the function's derivative at x.
  kMapGeluErfGrad = 41,
  kMapGeluTanhGrad = 42,
  kMapGeluQuickGrad = 43,
  kMapSiluGrad = 44,
  kMapOpEnd = 45
};

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_MAPOP_H

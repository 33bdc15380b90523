//===- MapProgram.h - Postfix programs of the map kernel --------*- C++ -*-===//
//
// An elementwise operation is launched as the kernel "map", whose numbers are
// a postfix program of [opcode, immediate] pairs:
//
//   x * y     Input 0, Input 1, Mul
//
// The opcodes stand in plans, so their values are stable. This is the
// compiler's copy of the runtime's table (the compiler includes no kernel);
// a test compares the two.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_OPS_MAPPROGRAM_H
#define TANDEM_IR_OPS_MAPPROGRAM_H

#include <cstdint>
#include <vector>

namespace tandem {

namespace map_opcode {
enum : int64_t {
  Input = 0,
  Const = 1,
  Add = 2,
  Sub = 3,
  Mul = 4,
  Div = 5,
  Max = 6,
  Min = 7,
  Pow = 8,
  Neg = 9,
  Abs = 10,
  Exp = 11,
  Log = 12,
  Sqrt = 13,
  Rsqrt = 14,
  Tanh = 15,
  Erf = 16,
  Sigmoid = 17,
  Silu = 18,
  GeluErf = 19,
  GeluTanh = 20,
  Sin = 21,
  Cos = 22,
  Relu = 23,
  Reciprocal = 24,
  Floor = 25,
  GeluQuick = 26,
  CmpEq = 30,
  CmpNe = 31,
  CmpLt = 32,
  CmpLe = 33,
  CmpGt = 34,
  CmpGe = 35,
  Select = 36,
  And = 37,
  Or = 38,
  Not = 39,
  Rem = 40,
  // Of (x, dy).
  GeluErfGrad = 41,
  GeluTanhGrad = 42,
  GeluQuickGrad = 43,
  SiluGrad = 44,
};
} // namespace map_opcode

/// Grows a program from left to right.
class MapProgram {
public:
  MapProgram &input(int64_t index) { return push(map_opcode::Input, index); }
  MapProgram &apply(int64_t opcode) { return push(opcode, 0); }
  const std::vector<int64_t> &numbers() const { return numbers_; }

private:
  MapProgram &push(int64_t opcode, int64_t immediate) {
    numbers_.push_back(opcode);
    numbers_.push_back(immediate);
    return *this;
  }
  std::vector<int64_t> numbers_;
};

} // namespace tandem

#endif // TANDEM_IR_OPS_MAPPROGRAM_H

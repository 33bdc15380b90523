//===- Formula.h - Writing a formula in operations --------------*- C++ -*-===//
//
// What local forms and derivatives are made of: elementwise operations, with
// numbers and broadcasts where shapes ask for them.
//
//   Formula f(builder, loc);
//   f.mul(gradient, f.sub(1, f.mul(y, y)))        // of y = tanh x
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_OPS_FORMULA_H
#define TANDEM_IR_OPS_FORMULA_H

#include "ir/Dialect.h"

namespace tandem {

/// The element type of a tensor.
mlir::Type elementTypeOf(mlir::Value value);

class Formula {
public:
  Formula(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::Value unary(UnaryKind kind, mlir::Value value);
  /// Both have one type.
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, mlir::Value rhs);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs) {
    return binary(BinaryKind::Mul, lhs, rhs);
  }
  mlir::Value sub(mlir::Value lhs, mlir::Value rhs) {
    return binary(BinaryKind::Sub, lhs, rhs);
  }
  mlir::Value div(mlir::Value lhs, mlir::Value rhs) {
    return binary(BinaryKind::Div, lhs, rhs);
  }
  mlir::Value neg(mlir::Value value) { return unary(UnaryKind::Neg, value); }
  mlir::Value scale(double number, mlir::Value value) {
    return mul(value, splat(number, value.getType()));
  }
  mlir::Value sub(double number, mlir::Value value) {
    return sub(splat(number, value.getType()), value);
  }
  mlir::Value compare(CompareKind kind, mlir::Value lhs, mlir::Value rhs);
  mlir::Value compare(CompareKind kind, mlir::Value lhs, double rhs) {
    return compare(kind, lhs, splat(rhs, lhs.getType()));
  }
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);
  /// `value` where `condition` holds, 0 elsewhere.
  mlir::Value where(mlir::Value condition, mlir::Value value) {
    return select(condition, value, zeros(value.getType()));
  }

  /// `value` combined over `dims`, which the result lacks.
  mlir::Value reduce(ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims);
  /// `value` with dimension i as dimension dims[i] of `shape`.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<int64_t> shape);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// `value` itself where it has that element type.
  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  /// Every lane of a tensor of `type` the number.
  mlir::Value splat(double number, mlir::Type type);
  mlir::Value zeros(mlir::Type type) { return splat(0, type); }

protected:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace tandem

#endif // TANDEM_IR_OPS_FORMULA_H

//===- RowForm.h - Local forms over a split last dimension ------*- C++ -*-===//
//
// Writes what a norm or a softmax is in operations whose rules are plain: the
// last dimension's lanes stay where they are, and of each row only statistics
// (a maximum, a sum) are brought together. Computed in float32, or in the
// operand's type where that is wider; rounded once, at the end.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_OPS_ROWFORM_H
#define TANDEM_IR_OPS_ROWFORM_H

#include "ir/ops/Formula.h"

namespace tandem {

class RowForm : public Formula {
public:
  /// Rows along the last dimension of `input`, a tensor of floats that has one.
  RowForm(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input);

  /// Bytes of `count` statistics of every row, unsharded.
  static int64_t statisticsBytes(mlir::Value input, int64_t count);

  /// The operand in the type of statistics.
  mlir::Value lanes() const { return input; }
  /// One number a row.
  mlir::Value reduce(ReduceKind kind, mlir::Value lanes);
  mlir::Value mean(mlir::Value lanes);
  /// The sum over all rows: the last dimension is left.
  mlir::Value sumOfRows(mlir::Value lanes);
  /// Of each row the lane that `lane`, integers, names.
  mlir::Value pick(mlir::Value lane);
  /// 1 / sqrt(`rows` + epsilon).
  mlir::Value inverseDeviation(mlir::Value rows, const llvm::APFloat &epsilon);
  /// A row's number on each of its lanes.
  mlir::Value overLanes(mlir::Value rows);
  /// `vector`, of the last dimension, plus `offset`, on each row.
  mlir::Value overRows(mlir::Value vector, double offset = 0);
  /// `value` in the type of statistics.
  mlir::Value widened(mlir::Value value);
  /// In the operand's element type.
  mlir::Value rounded(mlir::Value lanes);

private:
  /// `value` in the operand's shape.
  mlir::Value overAll(mlir::Value value, llvm::ArrayRef<int64_t> dims);

  mlir::Type elementType; ///< Of the operand.
  mlir::Value input;
};

} // namespace tandem

#endif // TANDEM_IR_OPS_ROWFORM_H

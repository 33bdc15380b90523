//===- Shapes.h - What verifiers and rules say of shapes --------*- C++ -*-===//
//
// Operations are verified over *global* shapes, in every phase; that a local
// tensor has the capacity that its encoding implies is checked once, for all
// operations (`verifyLocalTypes`, before their own verifiers).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_OPS_SHAPES_H
#define TANDEM_IR_OPS_SHAPES_H

#include "ir/Dialect.h"

namespace tandem {

/// The global shape of a value, by value (rules outlive types).
std::vector<int64_t> shapeOf(mlir::Value value);
std::vector<std::vector<int64_t>> shapesOf(mlir::ValueRange values);
/// `[2, 5, 48]`
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// `what` has that global shape.
mlir::LogicalResult expectShape(mlir::Operation *op, const llvm::Twine &what,
                                mlir::Value value,
                                llvm::ArrayRef<int64_t> expected);
/// 0 <= value < limit, else "`what` is 5, expected 0 to 1".
mlir::LogicalResult expectInRange(mlir::Operation *op, llvm::StringRef what,
                                  int64_t value, int64_t limit);
/// Elementwise types agree, else "`what` has element type i32, expected f32".
mlir::LogicalResult expectElementType(mlir::Operation *op,
                                      const llvm::Twine &what,
                                      mlir::Value value, mlir::Type expected);

/// `what` has the global shape and the element type of `model`.
mlir::LogicalResult expectLike(mlir::Operation *op, const llvm::Twine &what,
                               mlir::Value value, mlir::Value model);

/// What sums over elements of that type are computed in and kept as: f64 for
/// f64, else f32.
mlir::Type statisticsType(mlir::Type elementType);

/// A tensor whose dimension i is factor first + i.
FactorMapping consecutiveFactors(size_t rank, int32_t first = 0);
/// A dimension of `value` of which an operation looks up lanes: a rank gives
/// zeros for those that it does not hold. Of `i1` the terms are combined by
/// maximum, for booleans have no sum.
Factor ownedFactor(int64_t size, mlir::Value value);
/// Every operand and result has the dimensions of the first result; all pass
/// through.
ShardingRule elementwiseRule(mlir::Operation *op);

} // namespace tandem

#endif // TANDEM_IR_OPS_SHAPES_H

#include "ir/ops/RowForm.h"
#include "ir/ops/Shapes.h"

using namespace mlir;

namespace tandem {
RowForm::RowForm(OpBuilder &builder, Location loc, Value value)
    : Formula(builder, loc), elementType(elementTypeOf(value)),
      input(cast(value, statisticsType(elementType))) {}

int64_t RowForm::statisticsBytes(Value input, int64_t count) {
  int64_t rows = 1;
  for (int64_t size : ArrayRef(globalShape(input.getType())).drop_back())
    rows *= size;
  return storageBytes(dtypeOf(statisticsType(elementTypeOf(input))),
                      rows * count);
}

Value RowForm::reduce(ReduceKind kind, Value lanes) {
  int64_t rank = llvm::cast<RankedTensorType>(lanes.getType()).getRank();
  return Formula::reduce(kind, lanes, rank - 1);
}

Value RowForm::mean(Value lanes) {
  Value sum = reduce(ReduceKind::Sum, lanes);
  int64_t size =
      llvm::cast<RankedTensorType>(lanes.getType()).getShape().back();
  return binary(BinaryKind::Div, sum, splat(size, sum.getType()));
}

Value RowForm::sumOfRows(Value lanes) {
  auto type = llvm::cast<RankedTensorType>(lanes.getType());
  auto rows = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  return rows.empty()
             ? lanes
             : ReduceOp::create(builder, loc,
                                type.clone(type.getShape().take_back()),
                                ReduceKind::Sum, lanes, rows);
}

Value RowForm::pick(Value lane) {
  auto type = llvm::cast<RankedTensorType>(input.getType());
  int64_t last = type.getRank() - 1;
  return GatherOp::create(builder, loc, type.clone(type.getShape().drop_back()),
                          input, lane, last, last);
}

Value RowForm::inverseDeviation(Value rows, const APFloat &epsilon) {
  Value square = add(rows, splat(epsilon.convertToDouble(), rows.getType()));
  return unary(UnaryKind::Rsqrt, square);
}

Value RowForm::overLanes(Value rows) {
  int64_t rank = llvm::cast<RankedTensorType>(rows.getType()).getRank();
  return overAll(rows, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
}

Value RowForm::overRows(Value vector, double offset) {
  Value wide = widened(vector);
  if (offset != 0)
    wide = add(wide, splat(offset, wide.getType()));
  return overAll(wide,
                 llvm::cast<RankedTensorType>(input.getType()).getRank() - 1);
}

Value RowForm::widened(Value value) {
  return cast(value, elementTypeOf(input));
}

Value RowForm::rounded(Value lanes) { return cast(lanes, elementType); }

Value RowForm::overAll(Value value, ArrayRef<int64_t> dims) {
  return Formula::broadcast(
      value, dims, llvm::cast<RankedTensorType>(input.getType()).getShape());
}

} // namespace tandem

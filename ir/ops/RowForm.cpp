#include "ir/ops/RowForm.h"

using namespace mlir;

namespace tandem {
namespace {

Type statisticsType(Type elementType) {
  return isa<Float64Type>(elementType)
             ? elementType
             : Float32Type::get(elementType.getContext());
}

Type elementTypeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType()).getElementType();
}

} // namespace

RowForm::RowForm(OpBuilder &builder, Location loc, Value value)
    : builder(builder), loc(loc), elementType(elementTypeOf(value)),
      input(cast(value, statisticsType(elementType))) {}

int64_t RowForm::statisticsBytes(Value input, int64_t count) {
  int64_t rows = 1;
  for (int64_t size : ArrayRef(globalShape(input.getType())).drop_back())
    rows *= size;
  return storageBytes(dtypeOf(statisticsType(elementTypeOf(input))),
                      rows * count);
}

Value RowForm::unary(UnaryKind kind, Value value) {
  return UnaryOp::create(builder, loc, value.getType(), kind, value);
}

Value RowForm::binary(BinaryKind kind, Value lhs, Value rhs) {
  return BinaryOp::create(builder, loc, kind, lhs, rhs);
}

Value RowForm::add(Value lhs, Value rhs) {
  return SumOp::create(builder, loc, ValueRange{lhs, rhs});
}

Value RowForm::reduce(ReduceKind kind, Value lanes) {
  auto type = llvm::cast<RankedTensorType>(lanes.getType());
  int64_t last = type.getRank() - 1;
  return ReduceOp::create(builder, loc, type.clone(type.getShape().drop_back()),
                          kind, lanes, ArrayRef(last));
}

Value RowForm::mean(Value lanes) {
  Value sum = reduce(ReduceKind::Sum, lanes);
  int64_t size =
      llvm::cast<RankedTensorType>(lanes.getType()).getShape().back();
  return binary(BinaryKind::Div, sum, splat(size, sum.getType()));
}

Value RowForm::inverseDeviation(Value rows, const APFloat &epsilon) {
  Value square = add(rows, splat(epsilon.convertToDouble(), rows.getType()));
  return unary(UnaryKind::Rsqrt, square);
}

Value RowForm::overLanes(Value rows) {
  int64_t rank = llvm::cast<RankedTensorType>(rows.getType()).getRank();
  return broadcast(rows, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
}

Value RowForm::overRows(Value vector, double offset) {
  Value wide = cast(vector, elementTypeOf(input));
  if (offset != 0)
    wide = add(wide, splat(offset, wide.getType()));
  return broadcast(wide,
                   llvm::cast<RankedTensorType>(input.getType()).getRank() - 1);
}

Value RowForm::rounded(Value lanes) { return cast(lanes, elementType); }

Value RowForm::cast(Value value, Type to) {
  auto type = llvm::cast<RankedTensorType>(value.getType());
  if (type.getElementType() == to)
    return value;
  return CastOp::create(builder, loc, type.clone(to), value);
}

Value RowForm::splat(double number, Type type) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  auto scalar = RankedTensorType::get({}, tensor.getElementType());
  Value value = ConstantOp::create(
      builder, loc, scalar,
      DenseElementsAttr::get(
          scalar, builder.getFloatAttr(tensor.getElementType(), number)));
  return BroadcastInDimOp::create(builder, loc, tensor, value,
                                  ArrayRef<int64_t>());
}

Value RowForm::broadcast(Value value, ArrayRef<int64_t> dims) {
  auto shape = llvm::cast<RankedTensorType>(input.getType());
  return BroadcastInDimOp::create(
      builder, loc, shape.clone(elementTypeOf(value)), value, dims);
}

} // namespace tandem

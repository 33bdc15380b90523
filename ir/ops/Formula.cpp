#include "ir/ops/Formula.h"

using namespace mlir;

namespace tandem {
namespace {

RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

TypedAttr numberAttr(OpBuilder &builder, Type elementType, double number) {
  if (isa<FloatType>(elementType))
    return builder.getFloatAttr(elementType, number);
  return builder.getIntegerAttr(elementType, static_cast<int64_t>(number));
}

} // namespace

Type elementTypeOf(Value value) { return typeOf(value).getElementType(); }

Value Formula::unary(UnaryKind kind, Value value) {
  return UnaryOp::create(builder, loc, value.getType(), kind, value);
}

Value Formula::binary(BinaryKind kind, Value lhs, Value rhs) {
  return BinaryOp::create(builder, loc, kind, lhs, rhs);
}

Value Formula::add(Value lhs, Value rhs) {
  return SumOp::create(builder, loc, ValueRange{lhs, rhs});
}

Value Formula::compare(CompareKind kind, Value lhs, Value rhs) {
  return CompareOp::create(builder, loc, typeOf(lhs).clone(builder.getI1Type()),
                           kind, lhs, rhs);
}

Value Formula::select(Value condition, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, onTrue.getType(), condition, onTrue,
                          onFalse);
}

Value Formula::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(typeOf(value).getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
      shape.push_back(size);
  return ReduceOp::create(builder, loc, typeOf(value).clone(shape), kind, value,
                          dims);
}

Value Formula::broadcast(Value value, ArrayRef<int64_t> dims,
                         ArrayRef<int64_t> shape) {
  return BroadcastInDimOp::create(builder, loc, typeOf(value).clone(shape),
                                  value, dims);
}

Value Formula::reshape(Value value, ArrayRef<int64_t> shape) {
  return ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

Value Formula::cast(Value value, Type to) {
  if (elementTypeOf(value) == to)
    return value;
  return CastOp::create(builder, loc, typeOf(value).clone(to), value);
}

Value Formula::splat(double number, Type type) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  auto scalar = RankedTensorType::get({}, tensor.getElementType());
  Value value = ConstantOp::create(
      builder, loc, scalar,
      DenseElementsAttr::get(
          scalar, numberAttr(builder, tensor.getElementType(), number)));
  return BroadcastInDimOp::create(builder, loc, tensor, value,
                                  ArrayRef<int64_t>());
}

} // namespace tandem

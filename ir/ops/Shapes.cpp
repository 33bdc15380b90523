#include "ir/ops/Shapes.h"
#include "ir/ops/Formula.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tandem {

bool isTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  if (auto integer = dyn_cast<IntegerType>(element))
    return !integer.isSigned() &&
           (integer.isSignlessInteger(1) ||
            llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth()));
  return isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element);
}

std::vector<int64_t> shapeOf(Value value) {
  return toVector(globalShape(value.getType()));
}

std::vector<std::vector<int64_t>> shapesOf(ValueRange values) {
  std::vector<std::vector<int64_t>> shapes;
  for (Value value : values)
    shapes.push_back(shapeOf(value));
  return shapes;
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream);
  stream << ']';
  return text;
}

namespace {

LogicalResult verifyLocalType(Operation *op, Type type, const Twine &what,
                              const Mesh &mesh) {
  LocalAttr local = localOf(type);
  if (!local)
    return success();
  auto tensor = cast<RankedTensorType>(type);
  if (failed(local.getSharding().verifyFor(op, type, what.str())))
    return failure();
  Sharding sharding = local.getSharding().getValue(mesh);
  if (local.getGlobalShape().size() != sharding.dims.size())
    return op->emitOpError()
           << what << " has the global shape "
           << shapeText(local.getGlobalShape()) << ", expected "
           << sharding.dims.size() << " dimensions";
  std::vector<int64_t> expected =
      localShape(toVector(local.getGlobalShape()), sharding);
  if (tensor.getShape() == ArrayRef<int64_t>(expected))
    return success();
  return op->emitOpError() << what << " has local shape "
                           << shapeText(tensor.getShape()) << ", expected "
                           << shapeText(expected) << " of "
                           << shapeText(local.getGlobalShape()) << " on mesh "
                           << mesh.toString();
}

bool hasLocalType(Operation *op) {
  auto isLocal = [](Type type) { return bool(localOf(type)); };
  return llvm::any_of(op->getOperandTypes(), isLocal) ||
         llvm::any_of(op->getResultTypes(), isLocal);
}

} // namespace

LogicalResult verifyLocalTypes(Operation *op) {
  if (!hasLocalType(op))
    return success();
  Mesh mesh = meshOf(op);
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(verifyLocalType(op, type, "operand " + Twine(i), mesh)))
      return failure();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(verifyLocalType(op, type, "result " + Twine(i), mesh)))
      return failure();
  return success();
}

LogicalResult expectShape(Operation *op, const Twine &what, Value value,
                          ArrayRef<int64_t> expected) {
  std::vector<int64_t> shape = shapeOf(value);
  if (ArrayRef<int64_t>(shape) == expected)
    return success();
  return op->emitOpError() << what << " has shape " << shapeText(shape)
                           << ", expected " << shapeText(expected);
}

LogicalResult expectInRange(Operation *op, StringRef what, int64_t value,
                            int64_t limit) {
  if (value >= 0 && value < limit)
    return success();
  return op->emitOpError() << what << " is " << value << ", expected 0 to "
                           << limit - 1;
}

LogicalResult expectElementType(Operation *op, const Twine &what, Value value,
                                Type expected) {
  Type type = elementTypeOf(value);
  if (type == expected)
    return success();
  return op->emitOpError() << what << " has element type " << type
                           << ", expected " << expected;
}

LogicalResult expectLike(Operation *op, const Twine &what, Value value,
                         Value model) {
  return failure(
      failed(expectShape(op, what, value, shapeOf(model))) ||
      failed(expectElementType(op, what, value, elementTypeOf(model))));
}

Type statisticsType(Type elementType) {
  return isa<Float64Type>(elementType)
             ? elementType
             : Float32Type::get(elementType.getContext());
}

FactorMapping consecutiveFactors(size_t rank, int32_t first) {
  FactorMapping mapping;
  for (size_t i = 0; i < rank; ++i)
    mapping.dims.push_back({first + static_cast<int32_t>(i)});
  return mapping;
}

Factor ownedFactor(int64_t size, Value value) {
  bool isBool = elementTypeOf(value).isInteger(1);
  return {size, FactorKind::Reduction,
          isBool ? ReductionKind::Max : ReductionKind::Sum};
}

ShardingRule elementwiseRule(Operation *op) {
  std::vector<int64_t> shape = shapeOf(op->getResult(0));
  ShardingRule rule;
  for (int64_t size : shape)
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  rule.operands.assign(op->getNumOperands(), consecutiveFactors(shape.size()));
  rule.results.assign(op->getNumResults(), consecutiveFactors(shape.size()));
  return rule;
}

} // namespace tandem

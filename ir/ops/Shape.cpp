#include "ir/ops/Formula.h"
#include "ir/ops/MapProgram.h"
#include "ir/ops/Shapes.h"

#include <cmath>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

/// Elements as float64 in row-major order; nothing for what has no numbers.
std::optional<std::vector<double>> numbersOf(ElementsAttr elements) {
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    return std::nullopt;
  std::vector<double> numbers;
  if (isa<FloatType>(dense.getElementType())) {
    for (const APFloat &value : dense.getValues<APFloat>()) {
      APFloat wide = value;
      bool losesInfo = false;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      numbers.push_back(wide.convertToDouble());
    }
    return numbers;
  }
  bool isSigned = !dense.getElementType().isInteger(1) &&
                  !dense.getElementType().isUnsignedInteger();
  for (const APInt &value : dense.getValues<APInt>())
    numbers.push_back(isSigned ? double(value.getSExtValue())
                               : double(value.getZExtValue()));
  return numbers;
}

/// A rule of one operand and one result under construction.
struct ShapeRule {
  ShardingRule rule;

  explicit ShapeRule(size_t operands) {
    rule.operands.resize(operands);
    rule.results.resize(1);
  }
  int32_t add(const Factor &factor) {
    rule.factors.push_back(factor);
    return static_cast<int32_t>(rule.factors.size() - 1);
  }
  int32_t add(int64_t size) { return add(Factor{size}); }
  /// A dimension that the operand and the result share.
  void share(int64_t size) {
    int32_t factor = add(size);
    rule.operands[0].dims.push_back({factor});
    rule.results[0].dims.push_back({factor});
  }
  /// A dimension of which the result holds other lanes: a rank makes its piece
  /// of them out of what it holds of the operand's.
  void select(const Factor &from, int64_t to) {
    rule.operands[0].dims.push_back({add(from)});
    rule.results[0].dims.push_back({add(to)});
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &state) {
  ElementsAttr value;
  Type type;
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseAttribute(value, "value", state.attributes))
    return failure();
  if (succeeded(parser.parseOptionalArrow())) {
    if (parser.parseType(type))
      return failure();
  } else {
    type = value.getType();
  }
  return parser.addTypeToList(type, state.types);
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {"value"});
  printer << ' ' << getValueAttr();
  if (getResult().getType() != getValue().getType())
    printer << " -> " << getResult().getType();
}

LogicalResult ConstantOp::verify() {
  ShapedType type = getValue().getShapedType();
  return failure(
      failed(expectElementType(*this, "result", getResult(),
                               type.getElementType())) ||
      failed(expectShape(*this, "result", getResult(), type.getShape())));
}

/// Every rank makes its piece of a splat, and has all of any other constant.
ShardingRule ConstantOp::getShardingRule() {
  ShardingRule rule = elementwiseRule(*this);
  if (!getValue().isSplat())
    for (Factor &factor : rule.factors)
      factor.kind = FactorKind::MustReplicate;
  return rule;
}

KernelSpec ConstantOp::getKernelSpec() {
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense || !dense.isSplat())
    return {"constant", {}, -1, false};
  DenseElementsAttr one =
      dense.resizeSplat(RankedTensorType::get({1}, dense.getElementType()));
  return {"fill", {numberBits(numbersOf(one)->front())}, -1, false};
}

LogicalResult ConstantOp::evaluate(Operands, Results results) {
  auto numbers = numbersOf(getValue());
  if (!numbers)
    return emitOpError("value has no elements that can be read");
  Tensor whole = Tensor::whole(shapeOf(getResult()), std::move(*numbers));
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    std::vector<int64_t> from = index;
    for (size_t d = 0; d < index.size(); ++d)
      from[d] += results[0].dim(d).begin;
    results[0].at(index) = whole.at(from);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  return expectInRange(*this, "dim", getDim(), shapeOf(getResult()).size());
}

ShardingRule IotaOp::getShardingRule() { return elementwiseRule(*this); }

KernelSpec IotaOp::getKernelSpec() {
  return {"iota",
          {static_cast<int64_t>(getDim()),
           numberBits(getStart().convertToDouble()),
           numberBits(getStep().convertToDouble())},
          -1,
          false};
}

LogicalResult IotaOp::evaluate(Operands, Results results) {
  size_t dim = getDim();
  double start = getStart().convertToDouble();
  double step = getStep().convertToDouble();
  bool truncates = isa<IntegerType>(elementTypeOf(getResult()));
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    double value = start + step * (results[0].dim(dim).begin + index[dim]);
    results[0].at(index) = truncates ? std::trunc(value) : value;
  });
  return success();
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

namespace {

int64_t countOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

} // namespace

LogicalResult ReshapeOp::verify() {
  if (failed(expectElementType(*this, "result", getResult(),
                               elementTypeOf(getInput()))))
    return failure();
  int64_t from = countOf(shapeOf(getInput()));
  int64_t to = countOf(shapeOf(getResult()));
  if (from != to)
    return emitOpError() << "result has " << to << " elements, expected "
                         << from;
  return success();
}

ShardingRule ReshapeOp::getShardingRule() {
  return reshapeRule(shapeOf(getInput()), shapeOf(getResult()));
}

KernelSpec ReshapeOp::getKernelSpec() { return {"reshape", {}, 0, false}; }

LogicalResult ReshapeOp::evaluate(Operands operands, Results results) {
  // Factors that are split have shards with equal boundaries on both sides,
  // so the valid lanes correspond in row-major order.
  std::vector<double> values;
  operands[0]->forEachValid([&](const std::vector<int64_t> &index) {
    values.push_back(operands[0]->at(index));
  });
  size_t next = 0;
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    if (next < values.size())
      results[0].at(index) = values[next];
    ++next;
  });
  if (next != values.size())
    return emitOpError() << "a rank holds " << values.size()
                         << " elements of the operand and " << next
                         << " of the result";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  // A reshape of a reshape is one, as long as both are global: locally the
  // tensor between may lie otherwise.
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner || localOf(getResult().getType()))
    return {};
  getInputMutable().assign(inner.getInput());
  return getResult();
}

SmallVector<Value> ReshapeOp::differentiate(OpBuilder &builder,
                                            ValueRange gradients) {
  return {
      Formula(builder, getLoc()).reshape(gradients[0], shapeOf(getInput()))};
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::verify() {
  std::vector<int64_t> shape = shapeOf(getInput());
  ArrayRef<int64_t> permutation = getPermutation();
  std::vector<bool> seen(shape.size(), false);
  std::vector<int64_t> expected;
  for (int64_t dim : permutation) {
    bool inRange = dim >= 0 && dim < static_cast<int64_t>(shape.size());
    if (!inRange || seen[dim])
      break;
    seen[dim] = true;
    expected.push_back(shape[dim]);
  }
  if (expected.size() != shape.size() || permutation.size() != shape.size())
    return emitOpError() << "permutation is " << shapeText(permutation)
                         << ", expected each of 0 to "
                         << static_cast<int64_t>(shape.size()) - 1 << " once";
  return failure(failed(expectElementType(*this, "result", getResult(),
                                          elementTypeOf(getInput()))) ||
                 failed(expectShape(*this, "result", getResult(), expected)));
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule;
  std::vector<int64_t> shape = shapeOf(getInput());
  for (int64_t size : shape)
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  rule.operands.push_back(consecutiveFactors(shape.size()));
  rule.operands[0].linear = true;
  rule.results.emplace_back();
  for (int64_t dim : getPermutation())
    rule.results[0].dims.push_back({static_cast<int32_t>(dim)});
  return rule;
}

KernelSpec TransposeOp::getKernelSpec() {
  return {"transpose", toVector(getPermutation()), -1, false};
}

LogicalResult TransposeOp::evaluate(Operands operands, Results results) {
  ArrayRef<int64_t> permutation = getPermutation();
  std::vector<int64_t> from(permutation.size());
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    for (size_t d = 0; d < index.size(); ++d)
      from[permutation[d]] = index[d];
    results[0].at(index) = operands[0]->at(from);
  });
  return success();
}

SmallVector<Value> TransposeOp::differentiate(OpBuilder &builder,
                                              ValueRange gradients) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [d, from] : llvm::enumerate(getPermutation()))
    inverse[from] = static_cast<int64_t>(d);
  return {TransposeOp::create(builder, getLoc(), getInput().getType(),
                              gradients[0], inverse)};
}

//===----------------------------------------------------------------------===//
// broadcast_in_dim
//===----------------------------------------------------------------------===//

LogicalResult BroadcastInDimOp::verify() {
  std::vector<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (getDims().size() != from.size())
    return emitOpError() << "dims has " << getDims().size()
                         << " entries, expected " << from.size();
  int64_t previous = -1;
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    if (failed(expectInRange(*this, "dims entry", dim, to.size())))
      return failure();
    if (dim <= previous)
      return emitOpError() << "dims are " << shapeText(getDims())
                           << ", expected ascending ones";
    if (from[i] != to[dim])
      return emitOpError() << "result dimension " << dim << " has size "
                           << to[dim] << ", expected " << from[i];
    previous = dim;
  }
  return expectElementType(*this, "result", getResult(),
                           elementTypeOf(getInput()));
}

ShardingRule BroadcastInDimOp::getShardingRule() {
  ShardingRule rule;
  std::vector<int64_t> shape = shapeOf(getResult());
  for (int64_t size : shape)
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  rule.results.push_back(consecutiveFactors(shape.size()));
  rule.operands.emplace_back();
  rule.operands[0].linear = true;
  for (int64_t dim : getDims())
    rule.operands[0].dims.push_back({static_cast<int32_t>(dim)});
  return rule;
}

KernelSpec BroadcastInDimOp::getKernelSpec() {
  return {"map", MapProgram().input(0).numbers(), -1, false};
}

LogicalResult BroadcastInDimOp::evaluate(Operands operands, Results results) {
  std::vector<int64_t> from(getDims().size());
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = index[getDims()[i]];
    results[0].at(index) = operands[0]->at(from);
  });
  return success();
}

SmallVector<Value> BroadcastInDimOp::differentiate(OpBuilder &builder,
                                                   ValueRange gradients) {
  SmallVector<int64_t> repeated;
  for (size_t d = 0; d < shapeOf(getResult()).size(); ++d)
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(d)))
      repeated.push_back(static_cast<int64_t>(d));
  return {Formula(builder, getLoc())
              .reduce(ReduceKind::Sum, gradients[0], repeated)};
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  std::vector<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (getStart().size() != from.size() || getStep().size() != from.size())
    return emitOpError() << "start has " << getStart().size()
                         << " and step has " << getStep().size()
                         << " entries, expected " << from.size();
  if (to.size() != from.size())
    return emitOpError() << "result has " << to.size()
                         << " dimensions, expected " << from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (getStep()[d] < 1)
      return emitOpError() << "step of dimension " << d << " is "
                           << getStep()[d] << ", expected at least 1";
    if (getStart()[d] < 0)
      return emitOpError() << "start of dimension " << d << " is "
                           << getStart()[d] << ", expected at least 0";
    int64_t last = getStart()[d] + getStep()[d] * (to[d] - 1);
    if (to[d] > 0 && last >= from[d])
      return emitOpError() << "last index of dimension " << d << " is " << last
                           << ", expected less than " << from[d];
  }
  return expectElementType(*this, "result", getResult(),
                           elementTypeOf(getInput()));
}

ShardingRule SliceOp::getShardingRule() {
  std::vector<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  ShapeRule result(1);
  result.rule.operands[0].linear = true;
  for (size_t d = 0; d < from.size(); ++d) {
    if (getStart()[d] == 0 && getStep()[d] == 1 && to[d] == from[d])
      result.share(to[d]);
    else
      result.select(ownedFactor(from[d], getInput()), to[d]);
  }
  return result.rule;
}

KernelSpec SliceOp::getKernelSpec() {
  std::vector<int64_t> numbers = toVector(getStart());
  llvm::append_range(numbers, getStep());
  return {"slice", numbers, -1, false};
}

LogicalResult SliceOp::evaluate(Operands operands, Results results) {
  std::vector<int64_t> from(getStart().size());
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    bool held = true;
    for (size_t d = 0; d < index.size(); ++d) {
      const LocalDim &dim = operands[0]->dim(d);
      int64_t place = results[0].dim(d).begin + index[d];
      from[d] = getStart()[d] + getStep()[d] * place - dim.begin;
      held &= from[d] >= 0 && from[d] < dim.valid;
    }
    results[0].at(index) = held ? operands[0]->at(from) : 0;
  });
  return success();
}

namespace {

Value padded(OpBuilder &builder, Location loc, Value value,
             ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    shape.push_back(low[d] + size + high[d]);
  return PadOp::create(builder, loc, type.clone(shape), value, low, high,
                       APFloat(0.0));
}

Value sliced(OpBuilder &builder, Location loc, Value value,
             ArrayRef<int64_t> start, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> step(shape.size(), 1);
  return SliceOp::create(builder, loc, type.clone(shape), value, start, step);
}

/// Zeros put behind each lane, so that lanes are `step` apart: step - 1 of
/// them as a dimension behind each, and then `kept` of all lanes.
Value spread(OpBuilder &builder, Location loc, Value value,
             ArrayRef<int64_t> step, ArrayRef<int64_t> kept) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> apart, none, behind, joined;
  for (auto [d, size] : llvm::enumerate(shape)) {
    llvm::append_values(apart, size, int64_t(1));
    none.append(2, 0);
    llvm::append_values(behind, int64_t(0), step[d] - 1);
    joined.push_back(size * step[d]);
  }
  Formula f(builder, loc);
  value = padded(builder, loc, f.reshape(value, apart), none, behind);
  return sliced(builder, loc, f.reshape(value, joined),
                SmallVector<int64_t>(kept.size(), 0), kept);
}

} // namespace

SmallVector<Value> SliceOp::differentiate(OpBuilder &builder,
                                          ValueRange gradients) {
  std::vector<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  SmallVector<int64_t> kept, high;
  for (size_t d = 0; d < from.size(); ++d) {
    kept.push_back(std::min(to[d] * getStep()[d], from[d] - getStart()[d]));
    high.push_back(from[d] - getStart()[d] - kept[d]);
  }
  Value gradient = gradients[0];
  if (llvm::any_of(getStep(), [](int64_t step) { return step > 1; }))
    gradient = spread(builder, getLoc(), gradient, getStep(), kept);
  return {padded(builder, getLoc(), gradient, getStart(), high)};
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no operands, expected at least one");
  std::vector<int64_t> expected = shapeOf(getInputs()[0]);
  if (failed(expectInRange(*this, "dim", getDim(), expected.size())))
    return failure();
  Type elementType = elementTypeOf(getInputs()[0]);
  int64_t total = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    std::vector<int64_t> shape = shapeOf(input);
    if (getDim() < shape.size())
      total += expected[getDim()] = shape[getDim()];
    if (failed(expectShape(*this, "operand " + Twine(i), input, expected)) ||
        failed(expectElementType(*this, "operand " + Twine(i), input,
                                 elementType)))
      return failure();
  }
  expected[getDim()] = total;
  return failure(
      failed(expectElementType(*this, "result", getResult(), elementType)) ||
      failed(expectShape(*this, "result", getResult(), expected)));
}

ShardingRule ConcatOp::getShardingRule() {
  std::vector<int64_t> shape = shapeOf(getResult());
  ShapeRule result(getInputs().size());
  for (size_t d = 0; d < shape.size(); ++d)
    result.add(shape[d]);
  result.rule.results[0] = consecutiveFactors(shape.size());
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    FactorMapping &operand = result.rule.operands[i];
    operand = consecutiveFactors(shape.size());
    operand.linear = true;
    operand.dims[getDim()] = {result.add(
        Factor{shapeOf(input)[getDim()], FactorKind::MustReplicate})};
  }
  result.rule.additive = true;
  return result.rule;
}

KernelSpec ConcatOp::getKernelSpec() {
  return {"concat", {static_cast<int64_t>(getDim())}, -1, false};
}

LogicalResult ConcatOp::evaluate(Operands operands, Results results) {
  size_t dim = getDim();
  int64_t begin = 0;
  for (const Tensor *operand : operands) {
    operand->forEachValid([&](const std::vector<int64_t> &index) {
      std::vector<int64_t> to = index;
      to[dim] += begin - results[0].dim(dim).begin;
      if (to[dim] >= 0 && to[dim] < results[0].dim(dim).valid)
        results[0].at(to) = operand->at(index);
    });
    begin += operand->dim(dim).valid;
  }
  return success();
}

SmallVector<Value> ConcatOp::differentiate(OpBuilder &builder,
                                           ValueRange gradients) {
  SmallVector<Value> result;
  SmallVector<int64_t> start(shapeOf(getResult()).size(), 0);
  for (Value input : getInputs()) {
    std::vector<int64_t> shape = shapeOf(input);
    result.push_back(sliced(builder, getLoc(), gradients[0], start, shape));
    start[getDim()] += shape[getDim()];
  }
  return result;
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  std::vector<int64_t> expected = shapeOf(getInput());
  if (getLow().size() != expected.size() || getHigh().size() != expected.size())
    return emitOpError() << "low has " << getLow().size() << " and high has "
                         << getHigh().size() << " entries, expected "
                         << expected.size();
  for (size_t d = 0; d < expected.size(); ++d) {
    if (getLow()[d] < 0 || getHigh()[d] < 0)
      return emitOpError() << "dimension " << d << " has low " << getLow()[d]
                           << " and high " << getHigh()[d]
                           << ", expected none below 0";
    expected[d] += getLow()[d] + getHigh()[d];
  }
  return failure(failed(expectElementType(*this, "result", getResult(),
                                          elementTypeOf(getInput()))) ||
                 failed(expectShape(*this, "result", getResult(), expected)));
}

ShardingRule PadOp::getShardingRule() {
  std::vector<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  ShapeRule result(1);
  result.rule.operands[0].linear = getValue().isZero();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == to[d])
      result.share(to[d]);
    else
      result.select({from[d], FactorKind::MustReplicate}, to[d]);
  }
  return result.rule;
}

KernelSpec PadOp::getKernelSpec() {
  std::vector<int64_t> numbers = toVector(getLow());
  llvm::append_range(numbers, getHigh());
  numbers.push_back(numberBits(getValue().convertToDouble()));
  return {"pad", numbers, -1, false};
}

LogicalResult PadOp::evaluate(Operands operands, Results results) {
  double value = getValue().convertToDouble();
  results[0].forEachValid(
      [&](const std::vector<int64_t> &index) { results[0].at(index) = value; });
  operands[0]->forEachValid([&](const std::vector<int64_t> &index) {
    std::vector<int64_t> to = index;
    bool held = true;
    for (size_t d = 0; d < to.size(); ++d) {
      const LocalDim &dim = results[0].dim(d);
      to[d] += operands[0]->dim(d).begin + getLow()[d] - dim.begin;
      held &= to[d] >= 0 && to[d] < dim.valid;
    }
    if (held)
      results[0].at(to) = operands[0]->at(index);
  });
  return success();
}

SmallVector<Value> PadOp::differentiate(OpBuilder &builder,
                                        ValueRange gradients) {
  return {
      sliced(builder, getLoc(), gradients[0], getLow(), shapeOf(getInput()))};
}

} // namespace tandem

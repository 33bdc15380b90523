#include "frontend/FunctionBuilder.h"

using namespace mlir;

namespace tandem {

RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

llvm::ArrayRef<int64_t> sizesOf(Value value) {
  return typeOf(value).getShape();
}

FunctionBuilder::FunctionBuilder(ModuleOp module, llvm::StringRef name)
    : builder_(module.getContext()),
      location_(NameLoc::get(builder_.getStringAttr(name))) {
  builder_.setInsertionPointToEnd(module.getBody());
  function_ = func::FuncOp::create(builder_, location_, name,
                                   builder_.getFunctionType({}, {}));
  builder_.setInsertionPointToStart(function_.addEntryBlock());
}

void FunctionBuilder::at(int64_t layer, const llvm::Twine &where) {
  layer_ = layer;
  location_ = NameLoc::get(builder_.getStringAttr(where));
}

Value FunctionBuilder::argument(llvm::StringRef key, Attribute name,
                                RankedTensorType type) {
  Value &value = known_[{builder_.getStringAttr(key), name}];
  if (value)
    return value;
  value = function_.getBody().front().addArgument(type, location_);
  arguments_.push_back({value, {builder_.getNamedAttr(key, name)}});
  return value;
}

Value FunctionBuilder::input(llvm::StringRef name, RankedTensorType type) {
  return argument(TandemDialect::kInput, builder_.getStringAttr(name), type);
}

Value FunctionBuilder::parameter(ViewAttr view, llvm::ArrayRef<int64_t> stored,
                                 Type element, DenseF64ArrayAttr initial) {
  size_t before = arguments_.size();
  llvm::SmallVector<int64_t> shape = *view.getShape(stored);
  Value value = argument(TandemDialect::kParameter, view, type(shape, element));
  if (arguments_.size() > before)
    arguments_.back().attributes.push_back(
        builder_.getNamedAttr(TandemDialect::kInitial, initial));
  return value;
}

Value FunctionBuilder::state(llvm::StringRef name, RankedTensorType type) {
  return argument(TandemDialect::kState, builder_.getStringAttr(name), type);
}

void FunctionBuilder::output(llvm::StringRef name, Value value) {
  results_.push_back({TandemDialect::kOutput, name.str(), value});
}

void FunctionBuilder::replaceState(llvm::StringRef name, Value value) {
  results_.push_back({TandemDialect::kState, name.str(), value});
}

/// Gives each state argument the number of the result that replaces it.
void FunctionBuilder::tieStates() {
  for (size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].attribute != TandemDialect::kState)
      continue;
    Value state = known_.lookup({builder_.getStringAttr(TandemDialect::kState),
                                 builder_.getStringAttr(results_[i].name)});
    if (state)
      arguments_[llvm::cast<BlockArgument>(state).getArgNumber()]
          .attributes.push_back(builder_.getNamedAttr(
              TandemDialect::kAliases, builder_.getI64IntegerAttr(i)));
  }
}

func::FuncOp FunctionBuilder::finish() {
  tieStates();
  llvm::SmallVector<Value> values;
  llvm::SmallVector<Attribute> argumentAttrs, resultAttrs;
  for (const Argument &argument : arguments_)
    argumentAttrs.push_back(builder_.getDictionaryAttr(argument.attributes));
  for (const Returned &result : results_) {
    values.push_back(result.value);
    resultAttrs.push_back(builder_.getDictionaryAttr(builder_.getNamedAttr(
        result.attribute, builder_.getStringAttr(result.name))));
  }
  func::ReturnOp::create(builder_, function_.getLoc(), values);
  function_.setFunctionType(
      builder_.getFunctionType(function_.getBody().front().getArgumentTypes(),
                               ValueRange(values).getTypes()));
  function_.setArgAttrsAttr(builder_.getArrayAttr(argumentAttrs));
  function_.setResAttrsAttr(builder_.getArrayAttr(resultAttrs));
  return function_;
}

Value FunctionBuilder::einsum(llvm::StringRef equation,
                              llvm::ArrayRef<Value> inputs) {
  auto [operands, result] = equation.split("->");
  llvm::SmallVector<llvm::StringRef> groups;
  operands.split(groups, ',');
  llvm::SmallVector<int64_t> shape;
  for (char letter : result)
    for (size_t i = 0; i < groups.size(); ++i)
      if (size_t at = groups[i].find(letter); at != llvm::StringRef::npos) {
        shape.push_back(sizesOf(inputs[i])[at]);
        break;
      }
  Type element = typeOf(inputs[0]).getElementType();
  return create<EinsumOp>(type(shape, element),
                          builder_.getStringAttr(equation), ValueRange(inputs));
}

Value FunctionBuilder::sum(llvm::ArrayRef<Value> inputs) {
  if (inputs.size() == 1)
    return inputs[0];
  return create<SumOp>(inputs[0].getType(), ValueRange(inputs));
}

Value FunctionBuilder::mul(Value lhs, Value rhs) {
  return create<BinaryOp>(
      lhs.getType(), BinaryKindAttr::get(lhs.getContext(), BinaryKind::Mul),
      lhs, rhs);
}

Value FunctionBuilder::unary(UnaryKind kind, Value input) {
  return create<UnaryOp>(input.getType(),
                         UnaryKindAttr::get(input.getContext(), kind), input);
}

Value FunctionBuilder::cast(Value input, Type element) {
  if (typeOf(input).getElementType() == element)
    return input;
  return create<CastOp>(type(sizesOf(input), element), input);
}

Value FunctionBuilder::reshape(Value input, llvm::ArrayRef<int64_t> shape) {
  return create<ReshapeOp>(type(shape, typeOf(input).getElementType()), input);
}

Value FunctionBuilder::broadcast(Value input, Value like,
                                 llvm::ArrayRef<int64_t> dims) {
  return create<BroadcastInDimOp>(
      type(sizesOf(like), typeOf(input).getElementType()), input,
      builder_.getDenseI64ArrayAttr(dims));
}

Value FunctionBuilder::embedding(Value table, Value ids) {
  llvm::SmallVector<int64_t> shape(sizesOf(ids));
  shape.push_back(sizesOf(table)[1]);
  return create<EmbeddingOp>(type(shape, typeOf(table).getElementType()), table,
                             ids);
}

Value FunctionBuilder::reduceSum(Value input, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(sizesOf(input)))
    if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
      shape.push_back(size);
  return create<ReduceOp>(
      type(shape, typeOf(input).getElementType()),
      ReduceKindAttr::get(input.getContext(), ReduceKind::Sum), input,
      builder_.getDenseI64ArrayAttr(dims));
}

Value FunctionBuilder::microbatch(Value batch) {
  return create<MicrobatchOp>(
      type(sizesOf(batch).drop_front(), typeOf(batch).getElementType()), batch);
}

Value FunctionBuilder::accumulate(Value term) {
  return create<AccumulateOp>(type(sizesOf(term), f32()), term);
}

Value FunctionBuilder::constrain(Value input, ViewAttr view) {
  return create<ShardingConstraintOp>(input.getType(), input, ShardingAttr(),
                                      view);
}

Value FunctionBuilder::splat(RankedTensorType type, double value) {
  Type element = type.getElementType();
  Attribute lane =
      llvm::isa<FloatType>(element)
          ? Attribute(builder_.getFloatAttr(element, value))
          : builder_.getIntegerAttr(element, static_cast<int64_t>(value));
  return create<ConstantOp>(type, DenseElementsAttr::get(type, lane));
}

} // namespace tandem

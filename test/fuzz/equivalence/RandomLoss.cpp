#include "test/fuzz/equivalence/RandomLoss.h"

#include "ir/Microbatches.h"
#include "ir/PortAttributes.h"
#include "test/fuzz/equivalence/Random.h"

using namespace mlir;

namespace tandem::test {
namespace {

RankedTensorType typeOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

bool isFloat(Value value) {
  return isa<FloatType>(typeOf(value).getElementType());
}

class LossMaker {
public:
  LossMaker(func::FuncOp function, uint64_t seed, int64_t microbatches)
      : function(function), body(function.getBody().front()),
        end(body.getTerminator()), builder(function.getContext()), random(seed),
        microbatches(microbatches) {
    for (Operation &op : body)
      if (layerOf(&op))
        layer = op.getAttr(TandemDialect::kLayer);
  }

  bool make() {
    replaceUndifferentiable();
    makePorts();
    builder.setInsertionPoint(end);
    StepParts parts(function);
    SmallVector<Value> once, each;
    for (Value result : llvm::to_vector(end->getOperands())) {
      if (!isFloat(result))
        continue;
      Operation *op = result.getDefiningOp();
      bool inBody = op && parts.of(op) == StepPart::Body;
      (inBody ? each : once).push_back(weighed(result));
    }
    if (!each.empty()) {
      Value sum = add(each);
      Value total = emit(
          AccumulateOp::create(builder, function.getLoc(), sum.getType(), sum));
      once.push_back(scaled(total, 1 / 7.0));
    }
    if (once.empty() || !hasParameter)
      return false;
    finish(add(once));
    return true;
  }

private:
  /// What has no derivative (a gradient's own operation) becomes an argument.
  void replaceUndifferentiable() {
    for (Operation &op :
         llvm::make_early_inc_range(body.without_terminator())) {
      if (isa<DifferentiableOpInterface>(op) || op.getNumOperands() == 0 ||
          llvm::none_of(op.getResults(), isFloat))
        continue;
      for (Value result : op.getResults())
        result.replaceAllUsesWith(
            body.addArgument(result.getType(), op.getLoc()));
      op.erase();
    }
    SmallVector<DictionaryAttr> attributes;
    function.getAllArgAttrs(attributes);
    attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
    function.setFunctionType(builder.getFunctionType(
        body.getArgumentTypes(), function.getResultTypes()));
    function.setAllArgAttrs(attributes);
  }

  void makePorts() {
    PortAttributes ports(function);
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      NamedAttrList &list = ports.argument(i);
      std::string name = "a" + std::to_string(i);
      list.erase(TandemDialect::kState);
      list.erase(TandemDialect::kAliases);
      list.erase(TandemDialect::kInput);
      if (isFloat(argument) && (random.chance(65) || !hasParameter)) {
        hasParameter = true;
        list.set(TandemDialect::kParameter,
                 ViewAttr::get(builder.getContext(), name, {}, {}, {}));
        continue;
      }
      list.erase(TandemDialect::kParameter);
      list.set(TandemDialect::kInput, builder.getStringAttr(name));
      if (microbatches > 0 && random.chance(75)) {
        cut(argument);
        list.erase(TandemDialect::kSharding);
      }
    }
    ports.write();
    function.setFunctionType(builder.getFunctionType(
        body.getArgumentTypes(), function.getResultTypes()));
  }

  void cut(BlockArgument argument) {
    RankedTensorType type = typeOf(argument);
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin(), microbatches);
    argument.setType(type.clone(shape));
    builder.setInsertionPointToStart(&body);
    auto slice =
        MicrobatchOp::create(builder, function.getLoc(), type, argument);
    emit(slice);
    argument.replaceAllUsesExcept(slice, slice);
  }

  template <typename Op> Value emit(Op op) {
    if (layer)
      op->setAttr(TandemDialect::kLayer, layer);
    return op->getResult(0);
  }

  /// The sum of all lanes, each times a number of its own, in f64.
  Value weighed(Value value) {
    Location loc = function.getLoc();
    RankedTensorType type = typeOf(value);
    std::vector<double> weights;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      weights.push_back(static_cast<double>(random.between(-16, 16)) / 16);
    auto wide = type.clone(builder.getF64Type());
    if (wide != type)
      value = emit(CastOp::create(builder, loc, wide, value));
    Value weight = ConstantOp::create(
        builder, loc, wide, DenseElementsAttr::get(wide, ArrayRef(weights)));
    Value product =
        emit(BinaryOp::create(builder, loc, BinaryKind::Mul, value, weight));
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < type.getRank(); ++d)
      dims.push_back(d);
    return emit(ReduceOp::create(builder, loc, wide.clone(ArrayRef<int64_t>()),
                                 ReduceKind::Sum, product, dims));
  }

  Value add(ArrayRef<Value> values) {
    return emit(SumOp::create(builder, function.getLoc(), values));
  }

  Value scaled(Value value, double factor) {
    Value constant =
        ConstantOp::create(builder, function.getLoc(), typeOf(value),
                           DenseElementsAttr::get(typeOf(value), factor));
    return emit(BinaryOp::create(builder, function.getLoc(), BinaryKind::Mul,
                                 value, constant));
  }

  void finish(Value loss) {
    end->setOperands(loss);
    function.setFunctionType(
        builder.getFunctionType(function.getArgumentTypes(), loss.getType()));
    auto name = builder.getNamedAttr(TandemDialect::kOutput,
                                     builder.getStringAttr("loss"));
    DictionaryAttr port = builder.getDictionaryAttr(name);
    function.setAllResultAttrs(ArrayRef(port));
    function->setAttr(TandemDialect::kDifferentiate, builder.getUnitAttr());
  }

  func::FuncOp function;
  Block &body;
  Operation *end;
  OpBuilder builder;
  Random random;
  int64_t microbatches;
  Attribute layer;
  bool hasParameter = false;
};

} // namespace

bool makeLoss(ModuleOp module, uint64_t seed, int64_t microbatches) {
  auto function = module.lookupSymbol<func::FuncOp>("f");
  return LossMaker(function, seed, microbatches).make();
}

} // namespace tandem::test

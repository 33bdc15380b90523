#include "passes/autodiff/Gradients.h"
#include "passes/autodiff/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/autodiff/Passes.h.inc"

namespace {

bool isFloat(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// An accumulate that `value` depends on, null where there is none.
Operation *sumBehind(Value value) {
  SmallVector<Value> waiting = {value};
  DenseSet<Value> seen;
  while (!waiting.empty()) {
    Operation *op = waiting.pop_back_val().getDefiningOp();
    if (!op)
      continue;
    if (isa<AccumulateOp>(op))
      return op;
    for (Value operand : op->getOperands())
      if (seen.insert(operand).second)
        waiting.push_back(operand);
  }
  return nullptr;
}

/// Reverse mode over one function.
class ReverseMode {
public:
  explicit ReverseMode(func::FuncOp function)
      : function(function), parts(function), builder(function),
        gradients(parts, builder) {}

  LogicalResult run() {
    findParameters();
    if (parameters.empty())
      return function.emitOpError("has 'tandem.differentiate' and no parameter "
                                  "of floats to differentiate for");
    FailureOr<Value> loss = findLoss();
    if (failed(loss) || failed(parts.verify()))
      return failure();
    spreadActivity();
    Block &body = function.getBody().front();
    Operation *lastForward = body.getTerminator()->getPrevNode();
    seed(*loss);
    for (Operation *op = lastForward; op; op = op->getPrevNode())
      if (failed(differentiate(op)))
        return failure();
    addResults();
    eraseUnused(lastForward);
    return success();
  }

private:
  void findParameters() {
    for (BlockArgument argument : function.getArguments()) {
      auto view = function.getArgAttrOfType<ViewAttr>(
          argument.getArgNumber(), TandemDialect::kParameter);
      if (view && isFloat(argument))
        parameters.push_back({argument, view});
    }
  }

  FailureOr<Value> findLoss() {
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      auto name =
          function.getResultAttrOfType<StringAttr>(i, TandemDialect::kOutput);
      if (!name || name.getValue() != "loss")
        continue;
      if (isFloat(value) && globalShape(value.getType()).empty())
        return value;
      return function.emitOpError()
             << "result " << i << " 'loss' is " << value.getType()
             << ", expected a float without dimensions";
    }
    return function.emitOpError("has 'tandem.differentiate' and no result "
                                "with 'tandem.output' \"loss\"");
  }

  /// What changes when a parameter does.
  void spreadActivity() {
    for (const Parameter &parameter : parameters)
      active.insert(parameter.argument);
    for (Operation &op : function.getBody().front())
      if (llvm::any_of(op.getOperands(),
                       [&](Value v) { return active.contains(v); }))
        for (Value result : op.getResults())
          if (isFloat(result))
            active.insert(result);
  }

  void seed(Value loss) {
    if (!active.contains(loss))
      return;
    auto type = llvm::cast<RankedTensorType>(loss.getType());
    auto one = builder.getFloatAttr(type.getElementType(), 1);
    gradients.add(loss,
                  ConstantOp::create(builder, loss.getLoc(), type,
                                     DenseElementsAttr::get(type, one)),
                  nullptr);
  }

  /// The gradients of an operation's results, in the types that its derivative
  /// expects.
  SmallVector<Value> gradientsOf(Operation *op) {
    SmallVector<Value> result;
    for (Value value : op->getResults()) {
      Value gradient = gradients.of(value);
      builder.workFor(op);
      // A cast's derivative is a cast: a sum that was made in a wider type
      // stays as exact as it is.
      if (gradient && !isa<CastOp>(op) && gradient.getType() != value.getType())
        gradient =
            CastOp::create(builder, op->getLoc(), value.getType(), gradient);
      result.push_back(gradient);
    }
    return result;
  }

  LogicalResult differentiate(Operation *op) {
    if (llvm::none_of(op->getResults(),
                      [&](Value v) { return active.contains(v); }))
      return success();
    SmallVector<Value> known = gradientsOf(op);
    if (llvm::none_of(known, [](Value v) { return bool(v); }))
      return success();
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no derivative, and the loss depends on a "
                             "parameter through it");
    if (failed(expectThereInBody(op, known)))
      return failure();
    SmallVector<Value> found = differentiable.differentiate(builder, known);
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), found))
      if (gradient && active.contains(operand))
        gradients.add(operand, gradient, op);
    return success();
  }

  /// What the body of a step reads is there before its end.
  LogicalResult expectThereInBody(Operation *op, ArrayRef<Value> known) {
    if (parts.of(op) != StepPart::Body)
      return success();
    for (Value gradient : known) {
      Operation *sum = gradient ? sumBehind(gradient) : nullptr;
      if (!sum)
        continue;
      InFlightDiagnostic error = op->emitOpError(
          "has a gradient that depends on a sum over all microbatches, which "
          "is known behind the last one only; expected a loss that is linear "
          "in such sums");
      error.attachNote(sum->getLoc()) << "the gradient depends on this sum";
      return error;
    }
    return success();
  }

  Value gradientOf(BlockArgument argument) {
    RankedTensorType type = accumulatorType(argument.getType());
    Value gradient = gradients.of(argument);
    if (!gradient) {
      auto zero = builder.getFloatAttr(type.getElementType(), 0);
      return ConstantOp::create(builder, argument.getLoc(), type,
                                DenseElementsAttr::get(type, zero));
    }
    if (gradient.getType() == type)
      return gradient;
    return CastOp::create(builder, gradient.getLoc(), type, gradient);
  }

  void addResults() {
    SmallVector<Type> types(function.getResultTypes());
    SmallVector<DictionaryAttr> attributes;
    for (unsigned i = 0; i < types.size(); ++i)
      attributes.push_back(function.getResultAttrDict(i));
    Operation *end = function.getBody().front().getTerminator();
    SmallVector<Value> results(end->getOperands());
    std::map<std::string, int> views;
    for (const Parameter &parameter : parameters) {
      results.push_back(gradientOf(parameter.argument));
      types.push_back(results.back().getType());
      std::string name = "grad." + parameter.view.getKey().str();
      if (int number = ++views[name]; number > 1)
        name += "#" + std::to_string(number);
      attributes.push_back(resultAttributes(parameter, name));
    }
    end->setOperands(results);
    function.setFunctionType(FunctionType::get(
        function.getContext(), function.getArgumentTypes(), types));
    function.setAllResultAttrs(attributes);
  }

  struct Parameter {
    BlockArgument argument;
    ViewAttr view;
  };

  DictionaryAttr resultAttributes(const Parameter &parameter, StringRef name) {
    NamedAttrList list;
    list.set(TandemDialect::kOutput, builder.getStringAttr(name));
    list.set(TandemDialect::kGradient, parameter.view);
    // A sum over ranks has a gradient that each of them has.
    if (auto sharding = function.getArgAttrOfType<ShardingAttr>(
            parameter.argument.getArgNumber(), TandemDialect::kSharding))
      list.set(TandemDialect::kSharding,
               ShardingAttr::get(sharding.getContext(), sharding.getMesh(),
                                 sharding.getDims(), sharding.getReplicated(),
                                 ArrayRef<AxisRefAttr>()));
    return list.getDictionary(function.getContext());
  }

  /// Derivatives make the gradients of all operands, of ids and masks too.
  void eraseUnused(Operation *lastForward) {
    Operation *op = function.getBody().front().getTerminator()->getPrevNode();
    while (op && op != lastForward) {
      Operation *previous = op->getPrevNode();
      if (isOpTriviallyDead(op))
        op->erase();
      op = previous;
    }
  }

  func::FuncOp function;
  StepParts parts;
  BackwardBuilder builder;
  Gradients gradients;
  SmallVector<Parameter> parameters;
  DenseSet<Value> active;
};

struct DifferentiatePass : impl::DifferentiateBase<DifferentiatePass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(TandemDialect::kDifferentiate))
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("has 'tandem.differentiate' and no body of one "
                             "block");
        return signalPassFailure();
      }
      if (failed(ReverseMode(function).run()))
        return signalPassFailure();
      function->removeAttr(TandemDialect::kDifferentiate);
    }
  }
};

} // namespace
} // namespace tandem

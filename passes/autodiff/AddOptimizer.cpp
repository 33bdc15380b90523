#include "ir/Layers.h"
#include "ir/PortAttributes.h"
#include "passes/autodiff/Passes.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/autodiff/Passes.h.inc"

namespace {

/// A parameter that is trained.
struct Trained {
  unsigned argument = 0;
  unsigned result = 0; ///< Of its gradient.
  ViewAttr view;
  std::string name; ///< Its key, with a number where that has several views.
};

/// What an optimizer keeps of each parameter and reads of its settings; its
/// operation's operands are parameter, states, gradient, scale, settings.
struct Optimizer {
  StringRef name;
  StringRef operation;
  std::vector<StringRef> states;
  std::vector<StringRef> settings;
};

const Optimizer optimizers[] = {
    {"adamw",
     "tandem.adamw",
     {"exp_avg", "exp_avg_sq"},
     {"learning_rate", "beta1", "beta2", "epsilon", "weight_decay", "step"}},
    {"sgd",
     "tandem.sgd",
     {"momentum"},
     {"learning_rate", "momentum", "weight_decay"}},
};

const Optimizer *findOptimizer(StringRef name) {
  for (const Optimizer &optimizer : optimizers)
    if (optimizer.name == name)
      return &optimizer;
  return nullptr;
}

class StepBuilder {
public:
  StepBuilder(func::FuncOp function, const Optimizer &optimizer)
      : function(function), body(function.getBody().front()),
        optimizer(optimizer), builder(body.getTerminator()),
        loc(function.getLoc()) {}

  LogicalResult run() {
    if (failed(findTrained()))
      return failure();
    PortAttributes ports(function);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      arguments.push_back(ports.argument(i));
    Operation *terminator = body.getTerminator();
    gradients = llvm::to_vector(terminator->getOperands());
    head = layerOf(gradients[0].getDefiningOp()).value_or(0);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!ports.result(i).get(TandemDialect::kGradient))
        give(gradients[i], ports.result(i));
    Value norm = gradientNorm();
    give(norm, named(TandemDialect::kOutput, "grad_norm"));
    Value scale = clipScale(norm);
    for (const Trained &trained : parameters)
      update(trained, scale);
    finish(terminator);
    return success();
  }

private:
  /// Pairs gradients with the parameters of their views.
  LogicalResult findTrained() {
    std::map<const void *, unsigned> argumentOf;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto view =
              function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter))
        argumentOf[view.getAsOpaquePointer()] = i;
    std::map<std::string, int> uses;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto view =
          function.getResultAttrOfType<ViewAttr>(i, TandemDialect::kGradient);
      if (!view)
        continue;
      auto it = argumentOf.find(view.getAsOpaquePointer());
      if (it == argumentOf.end())
        return function.emitOpError()
               << "result " << i << " is the gradient of " << view
               << ", expected that of a parameter";
      Type type = function.getArgument(it->second).getType();
      Type element = cast<RankedTensorType>(type).getElementType();
      if (!element.isF32() && !element.isF64())
        return function.emitOpError()
               << "argument " << it->second << " is trained and of " << element
               << ", expected f32; cast it where it is used";
      std::string name = view.getKey().str();
      if (int count = ++uses[name]; count > 1)
        name += "#" + std::to_string(count);
      parameters.push_back({it->second, i, view, name});
    }
    if (parameters.empty())
      return function.emitOpError("has no gradients to follow; run "
                                  "tandem-differentiate first");
    return success();
  }

  RankedTensorType scalar(Type element) {
    return RankedTensorType::get({}, element);
  }

  /// What is created next belongs to `layer`.
  template <typename OpTy, typename... Args>
  OpTy create(int64_t layer, Args &&...args) {
    OpTy op = OpTy::create(builder, loc, std::forward<Args>(args)...);
    if (!isa<ConstantOp>(op.getOperation()))
      op->setAttr(TandemDialect::kLayer, builder.getI64IntegerAttr(layer));
    return op;
  }

  /// Of the operation that reads it first.
  int64_t layerOfParameter(const Trained &trained) {
    Value argument = function.getArgument(trained.argument);
    Operation *first = nullptr;
    for (Operation *user : argument.getUsers())
      if (layerOf(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    loc = first ? first->getLoc() : function.getLoc();
    return first ? *layerOf(first) : head;
  }

  Value constant(double value) {
    RankedTensorType type = scalar(builder.getF32Type());
    return create<ConstantOp>(
        head, type, DenseElementsAttr::get(type, static_cast<float>(value)));
  }

  Value binary(BinaryKind kind, Value lhs, Value rhs) {
    return create<BinaryOp>(head, kind, lhs, rhs);
  }

  /// The root of the sum of squares of all gradients.
  Value gradientNorm() {
    SmallVector<Value> squares;
    for (const Trained &trained : parameters) {
      Value gradient = gradients[trained.result];
      size_t rank = cast<RankedTensorType>(gradient.getType()).getRank();
      std::string letters;
      for (size_t d = 0; d < rank; ++d)
        letters += static_cast<char>('a' + d);
      int64_t layer = layerOfParameter(trained);
      squares.push_back(create<EinsumOp>(
          layer, scalar(builder.getF32Type()),
          builder.getStringAttr(letters + "," + letters + "->"),
          ValueRange{gradient, gradient}));
    }
    loc = function.getLoc();
    Value sum = squares[0];
    if (squares.size() > 1)
      sum = create<SumOp>(head, squares[0].getType(), squares);
    return create<UnaryOp>(
        head, sum.getType(),
        UnaryKindAttr::get(builder.getContext(), UnaryKind::Sqrt), sum);
  }

  /// min(1, clip_norm / (norm + 1e-6)), or 1 where nothing is to be clipped.
  Value clipScale(Value norm) {
    Value clip = setting("clip_norm");
    Value one = constant(1);
    Value shifted =
        create<SumOp>(head, norm.getType(), ValueRange{norm, constant(1e-6)});
    Value ratio =
        binary(BinaryKind::Min, one, binary(BinaryKind::Div, clip, shifted));
    Value clips = create<CompareOp>(
        head, scalar(builder.getI1Type()),
        CompareKindAttr::get(builder.getContext(), CompareKind::Gt), clip,
        constant(0));
    return create<SelectOp>(head, ratio.getType(), clips, ratio, one);
  }

  /// The scalar input of that name.
  Value setting(StringRef name) {
    Value &value = settings[name.str()];
    if (value)
      return value;
    Type element = name == "step" ? Type(builder.getI32Type())
                                  : Type(builder.getF32Type());
    return value =
               argument(scalar(element), named(TandemDialect::kInput, name));
  }

  NamedAttrList named(StringRef kind, StringRef name) {
    NamedAttrList attributes;
    attributes.set(kind, builder.getStringAttr(name));
    return attributes;
  }

  Value argument(Type type, NamedAttrList attributes) {
    arguments.push_back(std::move(attributes));
    return body.addArgument(type, loc);
  }

  void update(const Trained &trained, Value scale) {
    int64_t layer = layerOfParameter(trained);
    SmallVector<unsigned> replaced = {trained.argument};
    SmallVector<Value> operands = {function.getArgument(trained.argument)};
    Type type = operands[0].getType();
    for (StringRef state : optimizer.states) {
      NamedAttrList attributes =
          named(TandemDialect::kState, (state + "." + trained.name).str());
      attributes.set(TandemDialect::kMoment, trained.view);
      replaced.push_back(arguments.size());
      operands.push_back(argument(type, attributes));
    }
    Value gradient = gradients[trained.result];
    if (gradient.getType() != type)
      gradient = create<CastOp>(layer, type, gradient);
    operands.push_back(gradient);
    operands.push_back(scale);
    for (StringRef name : optimizer.settings)
      operands.push_back(setting(name));
    OperationState step(loc, optimizer.operation);
    step.addOperands(operands);
    step.addTypes(SmallVector<Type>(replaced.size(), type));
    size_t dims = trained.view.getStoredShape().empty()
                      ? cast<RankedTensorType>(type).getRank()
                      : trained.view.getStoredShape().size();
    if (dims >= 2)
      step.addAttribute("decay", builder.getUnitAttr());
    step.addAttribute(TandemDialect::kLayer, builder.getI64IntegerAttr(layer));
    Operation *op = builder.create(step);
    for (auto [index, value] : llvm::zip_equal(replaced, op->getResults())) {
      arguments[index].set(TandemDialect::kAliases,
                           builder.getI64IntegerAttr(results.size()));
      NamedAttrList attributes;
      if (Attribute name = arguments[index].get(TandemDialect::kState))
        attributes.set(TandemDialect::kState, name);
      give(value, attributes);
    }
  }

  void give(Value value, NamedAttrList attributes) {
    results.push_back(value);
    resultAttributes.push_back(std::move(attributes));
  }

  void finish(Operation *terminator) {
    terminator->setOperands(results);
    function.setFunctionType(builder.getFunctionType(
        body.getArgumentTypes(), ValueRange(results).getTypes()));
    auto dictionaries = [&](std::vector<NamedAttrList> &lists) {
      SmallVector<DictionaryAttr> all;
      for (NamedAttrList &list : lists)
        all.push_back(list.getDictionary(builder.getContext()));
      return all;
    };
    function.setAllArgAttrs(dictionaries(arguments));
    function.setAllResultAttrs(dictionaries(resultAttributes));
    function->removeAttr(TandemDialect::kOptimizer);
  }

  func::FuncOp function;
  Block &body;
  const Optimizer &optimizer;
  OpBuilder builder;
  Location loc;
  int64_t head = 0; ///< The layer of what belongs to no parameter.
  std::vector<Trained> parameters;
  SmallVector<Value> gradients; ///< What the function returned.
  std::map<std::string, Value> settings;
  std::vector<NamedAttrList> arguments, resultAttributes;
  SmallVector<Value> results;
};

struct AddOptimizerPass : impl::AddOptimizerBase<AddOptimizerPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto name =
          function->getAttrOfType<StringAttr>(TandemDialect::kOptimizer);
      if (!name || function.isExternal())
        continue;
      const Optimizer *optimizer = findOptimizer(name.getValue());
      if (!optimizer) {
        function.emitOpError() << "attribute 'tandem.optimizer' is " << name
                               << ", expected \"adamw\" or \"sgd\"";
        return signalPassFailure();
      }
      if (failed(StepBuilder(function, *optimizer).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace tandem

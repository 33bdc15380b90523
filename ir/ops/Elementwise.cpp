#include "ir/ops/Formula.h"
#include "ir/ops/Lanes.h"
#include "ir/ops/Shapes.h"

#include "mlir/IR/PatternMatch.h"

#include <cmath>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

bool isInteger(Value value) {
  return isa<IntegerType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}
bool isBool(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isInteger(1);
}

//===----------------------------------------------------------------------===//
// One table for each kind: what it means, which opcode computes it, which
// types it takes, its derivative
//===----------------------------------------------------------------------===//

enum class Takes { Floats, Numbers, Bools };

/// An elementwise operation, as its derivative sees it: y = f(x), and the
/// gradient of y.
struct UnaryPoint {
  Value x, y, gradient;
};

struct UnaryFunction {
  UnaryKind kind;
  int64_t opcode;
  Takes takes;
  bool linear;
  double (*value)(double);
  /// The gradient of x; null where it is zero.
  Value (*derivative)(Formula &, const UnaryPoint &);
};

Value noDerivative(Formula &, const UnaryPoint &) { return {}; }

const UnaryFunction unaryFunctions[] = {
    {UnaryKind::Neg, map_opcode::Neg, Takes::Numbers, true,
     [](double x) { return -x; },
     [](Formula &f, const UnaryPoint &at) { return f.neg(at.gradient); }},
    {UnaryKind::Abs, map_opcode::Abs, Takes::Numbers, false,
     [](double x) { return std::fabs(x); },
     [](Formula &f, const UnaryPoint &at) {
       return f.select(f.compare(CompareKind::Lt, at.x, 0.0),
                       f.neg(at.gradient), at.gradient);
     }},
    {UnaryKind::Exp, map_opcode::Exp, Takes::Floats, false,
     [](double x) { return std::exp(x); },
     [](Formula &f, const UnaryPoint &at) { return f.mul(at.gradient, at.y); }},
    {UnaryKind::Log, map_opcode::Log, Takes::Floats, false,
     [](double x) { return std::log(x); },
     [](Formula &f, const UnaryPoint &at) { return f.div(at.gradient, at.x); }},
    {UnaryKind::Sqrt, map_opcode::Sqrt, Takes::Floats, false,
     [](double x) { return std::sqrt(x); },
     [](Formula &f, const UnaryPoint &at) {
       return f.div(at.gradient, f.add(at.y, at.y));
     }},
    {UnaryKind::Rsqrt, map_opcode::Rsqrt, Takes::Floats, false,
     [](double x) { return 1 / std::sqrt(x); },
     [](Formula &f, const UnaryPoint &at) {
       return f.mul(at.gradient, f.scale(-0.5, f.div(at.y, at.x)));
     }},
    {UnaryKind::Tanh, map_opcode::Tanh, Takes::Floats, false,
     [](double x) { return std::tanh(x); },
     [](Formula &f, const UnaryPoint &at) {
       return f.mul(at.gradient, f.sub(1, f.mul(at.y, at.y)));
     }},
    {UnaryKind::Erf, map_opcode::Erf, Takes::Floats, false,
     [](double x) { return std::erf(x); },
     [](Formula &f, const UnaryPoint &at) {
       Value bell = f.unary(UnaryKind::Exp, f.neg(f.mul(at.x, at.x)));
       return f.mul(at.gradient, f.scale(M_2_SQRTPI, bell));
     }},
    {UnaryKind::Sigmoid, map_opcode::Sigmoid, Takes::Floats, false,
     [](double x) { return 1 / (1 + std::exp(-x)); },
     [](Formula &f, const UnaryPoint &at) {
       return f.mul(at.gradient, f.mul(at.y, f.sub(1, at.y)));
     }},
    {UnaryKind::Relu, map_opcode::Relu, Takes::Floats, false,
     [](double x) { return x < 0 ? 0 : x; },
     [](Formula &f, const UnaryPoint &at) {
       return f.where(f.compare(CompareKind::Gt, at.x, 0.0), at.gradient);
     }},
    {UnaryKind::Sin, map_opcode::Sin, Takes::Floats, false,
     [](double x) { return std::sin(x); },
     [](Formula &f, const UnaryPoint &at) {
       return f.mul(at.gradient, f.unary(UnaryKind::Cos, at.x));
     }},
    {UnaryKind::Cos, map_opcode::Cos, Takes::Floats, false,
     [](double x) { return std::cos(x); },
     [](Formula &f, const UnaryPoint &at) {
       return f.neg(f.mul(at.gradient, f.unary(UnaryKind::Sin, at.x)));
     }},
    {UnaryKind::Reciprocal, map_opcode::Reciprocal, Takes::Floats, false,
     [](double x) { return 1 / x; },
     [](Formula &f, const UnaryPoint &at) {
       return f.neg(f.mul(at.gradient, f.mul(at.y, at.y)));
     }},
    {UnaryKind::Floor, map_opcode::Floor, Takes::Floats, false,
     [](double x) { return std::floor(x); }, noDerivative},
    {UnaryKind::Not, map_opcode::Not, Takes::Bools, false,
     [](double x) { return x == 0 ? 1.0 : 0.0; }, noDerivative},
};

/// Which operands a binary function is linear in.
enum class Linear { None, Left, Each, Together };

/// z = f(x, y), and the gradient of z.
struct BinaryPoint {
  Value x, y, z, gradient;
};

/// The gradients of both operands; null where one is zero.
using BinaryDerivative = std::pair<Value, Value> (*)(Formula &,
                                                     const BinaryPoint &);

struct BinaryFunction {
  BinaryKind kind;
  int64_t opcode;
  Takes takes;
  Linear linear;
  double (*value)(double, double);
  BinaryDerivative derivative;
};

double largerOrNan(double x, double y) {
  return std::isnan(x) || x > y ? x : y;
}
double smallerOrNan(double x, double y) {
  return std::isnan(x) || x < y ? x : y;
}

std::pair<Value, Value> subDerivative(Formula &f, const BinaryPoint &at) {
  return {at.gradient, f.neg(at.gradient)};
}
std::pair<Value, Value> mulDerivative(Formula &f, const BinaryPoint &at) {
  return {f.mul(at.gradient, at.y), f.mul(at.gradient, at.x)};
}
std::pair<Value, Value> divDerivative(Formula &f, const BinaryPoint &at) {
  Value left = f.div(at.gradient, at.y);
  return {left, f.neg(f.mul(left, at.z))};
}
/// To the operand that was chosen; equal ones share it.
std::pair<Value, Value> choiceDerivative(Formula &f, const BinaryPoint &at) {
  Value tie = f.compare(CompareKind::Eq, at.x, at.y);
  Value shared = f.select(tie, f.scale(0.5, at.gradient), at.gradient);
  return {f.where(f.compare(CompareKind::Eq, at.x, at.z), shared),
          f.where(f.compare(CompareKind::Eq, at.y, at.z), shared)};
}
/// The exponent's is defined for positive x only.
std::pair<Value, Value> powDerivative(Formula &f, const BinaryPoint &at) {
  Value less = f.sub(at.y, f.splat(1, at.y.getType()));
  Value slope = f.mul(at.y, f.binary(BinaryKind::Pow, at.x, less));
  Value positive = f.compare(CompareKind::Gt, at.x, 0.0);
  Value growth = f.mul(at.z, f.unary(UnaryKind::Log, at.x));
  return {
      f.mul(at.gradient, f.where(f.compare(CompareKind::Ne, at.y, 0.0), slope)),
      f.mul(at.gradient, f.where(positive, growth))};
}
/// x - y * whole, whole = (x - z) / y.
std::pair<Value, Value> remDerivative(Formula &f, const BinaryPoint &at) {
  Value whole = f.div(f.sub(at.x, at.z), at.y);
  return {at.gradient, f.neg(f.mul(at.gradient, whole))};
}
std::pair<Value, Value> noDerivatives(Formula &, const BinaryPoint &) {
  return {};
}

const BinaryFunction binaryFunctions[] = {
    {BinaryKind::Sub, map_opcode::Sub, Takes::Numbers, Linear::Together,
     [](double x, double y) { return x - y; }, subDerivative},
    {BinaryKind::Mul, map_opcode::Mul, Takes::Numbers, Linear::Each,
     [](double x, double y) { return x * y; }, mulDerivative},
    {BinaryKind::Div, map_opcode::Div, Takes::Numbers, Linear::Left,
     [](double x, double y) { return x / y; }, divDerivative},
    {BinaryKind::Max, map_opcode::Max, Takes::Numbers, Linear::None,
     largerOrNan, choiceDerivative},
    {BinaryKind::Min, map_opcode::Min, Takes::Numbers, Linear::None,
     smallerOrNan, choiceDerivative},
    {BinaryKind::Pow, map_opcode::Pow, Takes::Numbers, Linear::None,
     [](double x, double y) { return std::pow(x, y); }, powDerivative},
    {BinaryKind::Rem, map_opcode::Rem, Takes::Numbers, Linear::None,
     [](double x, double y) { return std::fmod(x, y); }, remDerivative},
    {BinaryKind::And, map_opcode::And, Takes::Bools, Linear::None,
     [](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; },
     noDerivatives},
    {BinaryKind::Or, map_opcode::Or, Takes::Bools, Linear::None,
     [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; },
     noDerivatives},
};

struct CompareFunction {
  CompareKind kind;
  int64_t opcode;
  bool (*value)(double, double);
};

const CompareFunction compareFunctions[] = {
    {CompareKind::Eq, map_opcode::CmpEq,
     [](double x, double y) { return x == y; }},
    {CompareKind::Ne, map_opcode::CmpNe,
     [](double x, double y) { return x != y; }},
    {CompareKind::Lt, map_opcode::CmpLt,
     [](double x, double y) { return x < y; }},
    {CompareKind::Le, map_opcode::CmpLe,
     [](double x, double y) { return x <= y; }},
    {CompareKind::Gt, map_opcode::CmpGt,
     [](double x, double y) { return x > y; }},
    {CompareKind::Ge, map_opcode::CmpGe,
     [](double x, double y) { return x >= y; }},
};

bool suits(Value value, Takes takes, bool integersToo) {
  if (takes == Takes::Bools || isBool(value))
    return takes == Takes::Bools && isBool(value);
  return integersToo || !isInteger(value);
}

LogicalResult expectSuitable(Operation *op, StringRef kind, Takes takes) {
  if (suits(op->getResult(0), takes, takes == Takes::Numbers))
    return success();
  static const char *const names[] = {"floats", "floats or integers", "i1"};
  return op->emitOpError()
         << "kind " << kind << " takes " << names[static_cast<int>(takes)]
         << ", got "
         << cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Lane by lane
//===----------------------------------------------------------------------===//

/// A quotient or remainder of integers: toward zero, and 0 by zero.
double wholeQuotient(double x, double y) {
  return y == 0 ? 0 : std::trunc(x / y);
}
double wholeRemainder(double x, double y) {
  return y == 0 ? 0 : std::fmod(x, y);
}

double applyBinary(BinaryKind kind, bool integers, double x, double y) {
  if (integers && kind == BinaryKind::Div)
    return wholeQuotient(x, y);
  if (integers && kind == BinaryKind::Rem)
    return wholeRemainder(x, y);
  return rowOf(binaryFunctions, kind).value(x, y);
}

} // namespace

//===----------------------------------------------------------------------===//
// unary
//===----------------------------------------------------------------------===//

LogicalResult UnaryOp::verify() {
  return expectSuitable(*this, stringifyUnaryKind(getKind()),
                        rowOf(unaryFunctions, getKind()).takes);
}

ShardingRule UnaryOp::getShardingRule() {
  ShardingRule rule = elementwiseRule(*this);
  rule.operands[0].linear = rowOf(unaryFunctions, getKind()).linear;
  return rule;
}

KernelSpec UnaryOp::getKernelSpec() {
  int64_t opcode = rowOf(unaryFunctions, getKind()).opcode;
  return mapKernel(MapProgram().input(0).apply(opcode), 0);
}

LogicalResult UnaryOp::evaluate(Operands operands, Results results) {
  auto *function = rowOf(unaryFunctions, getKind()).value;
  return evaluateLanes(operands, results,
                       [&](ArrayRef<double> x) { return function(x[0]); });
}

SmallVector<Value> UnaryOp::differentiate(OpBuilder &builder,
                                          ValueRange gradients) {
  Formula formula(builder, getLoc());
  auto *derivative = rowOf(unaryFunctions, getKind()).derivative;
  return {derivative(formula, {getInput(), getResult(), gradients[0]})};
}

//===----------------------------------------------------------------------===//
// binary
//===----------------------------------------------------------------------===//

ParseResult parseBinaryTypes(OpAsmParser &parser, Type &lhs, Type &rhs,
                             Type &result) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  lhs = rhs = result;
  auto function = dyn_cast<FunctionType>(result);
  if (!function)
    return success();
  if (function.getNumInputs() != 2 || function.getNumResults() != 1)
    return parser.emitError(location, "expected two operands and one result");
  lhs = function.getInput(0);
  rhs = function.getInput(1);
  result = function.getResult(0);
  return success();
}

void printBinaryTypes(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs,
                      Type result) {
  if (lhs == result && rhs == result)
    printer << result;
  else
    printer.printFunctionalType(TypeRange{lhs, rhs}, TypeRange{result});
}

LogicalResult BinaryOp::verify() {
  Type elementType = getResult().getType().getElementType();
  if (failed(expectShape(*this, "lhs", getLhs(), shapeOf(getResult()))) ||
      failed(expectShape(*this, "rhs", getRhs(), shapeOf(getResult()))) ||
      failed(expectElementType(*this, "lhs", getLhs(), elementType)) ||
      failed(expectElementType(*this, "rhs", getRhs(), elementType)))
    return failure();
  return expectSuitable(*this, stringifyBinaryKind(getKind()),
                        rowOf(binaryFunctions, getKind()).takes);
}

ShardingRule BinaryOp::getShardingRule() {
  Linear linear = rowOf(binaryFunctions, getKind()).linear;
  ShardingRule rule = elementwiseRule(*this);
  rule.operands[0].linear = linear != Linear::None;
  rule.operands[1].linear =
      linear == Linear::Each || linear == Linear::Together;
  rule.additive = linear == Linear::Together;
  return rule;
}

KernelSpec BinaryOp::getKernelSpec() {
  int64_t opcode = rowOf(binaryFunctions, getKind()).opcode;
  return mapKernel(MapProgram().input(0).input(1).apply(opcode), 0);
}

LogicalResult BinaryOp::evaluate(Operands operands, Results results) {
  bool integers = isInteger(getResult());
  return evaluateLanes(operands, results, [&](ArrayRef<double> x) {
    return applyBinary(getKind(), integers, x[0], x[1]);
  });
}

SmallVector<Value> BinaryOp::differentiate(OpBuilder &builder,
                                           ValueRange gradients) {
  Formula formula(builder, getLoc());
  auto *derivative = rowOf(binaryFunctions, getKind()).derivative;
  auto [lhs, rhs] =
      derivative(formula, {getLhs(), getRhs(), getResult(), gradients[0]});
  return {lhs, rhs};
}

//===----------------------------------------------------------------------===//
// compare and select
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::verify() {
  return expectShape(*this, "result", getResult(), shapeOf(getLhs()));
}

ShardingRule CompareOp::getShardingRule() { return elementwiseRule(*this); }

KernelSpec CompareOp::getKernelSpec() {
  int64_t opcode = rowOf(compareFunctions, getKind()).opcode;
  return mapKernel(MapProgram().input(0).input(1).apply(opcode), -1);
}

LogicalResult CompareOp::evaluate(Operands operands, Results results) {
  auto *function = rowOf(compareFunctions, getKind()).value;
  return evaluateLanes(operands, results, [&](ArrayRef<double> x) {
    return function(x[0], x[1]) ? 1.0 : 0.0;
  });
}

LogicalResult SelectOp::verify() {
  return expectShape(*this, "condition", getCondition(), shapeOf(getResult()));
}

ShardingRule SelectOp::getShardingRule() {
  ShardingRule rule = elementwiseRule(*this);
  rule.operands[1].linear = rule.operands[2].linear = true;
  rule.additive = true;
  return rule;
}

KernelSpec SelectOp::getKernelSpec() {
  MapProgram program;
  program.input(0).input(1).input(2).apply(map_opcode::Select);
  return mapKernel(program, 1);
}

LogicalResult SelectOp::evaluate(Operands operands, Results results) {
  return evaluateLanes(operands, results, [](ArrayRef<double> x) {
    return x[0] != 0 ? x[1] : x[2];
  });
}

SmallVector<Value> SelectOp::differentiate(OpBuilder &builder,
                                           ValueRange gradients) {
  Formula f(builder, getLoc());
  Value zeros = f.zeros(gradients[0].getType());
  return {Value(), f.select(getCondition(), gradients[0], zeros),
          f.select(getCondition(), zeros, gradients[0])};
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  return expectShape(*this, "result", getResult(), shapeOf(getInput()));
}

ShardingRule CastOp::getShardingRule() {
  auto from = dyn_cast<FloatType>(getInput().getType().getElementType());
  auto to = dyn_cast<FloatType>(getResult().getType().getElementType());
  ShardingRule rule = elementwiseRule(*this);
  // Terms that are rounded before they are added give another sum.
  rule.operands[0].linear = from && to && to.getWidth() >= from.getWidth();
  return rule;
}

KernelSpec CastOp::getKernelSpec() {
  return mapKernel(MapProgram().input(0), -1);
}

LogicalResult CastOp::evaluate(Operands operands, Results results) {
  bool truncates = isInteger(getResult()) && !isBool(getResult());
  bool toBool = isBool(getResult());
  return evaluateLanes(operands, results, [&](ArrayRef<double> x) {
    if (toBool)
      return x[0] != 0 ? 1.0 : 0.0;
    return truncates ? std::trunc(x[0]) : x[0];
  });
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}

/// Of integers there is none.
SmallVector<Value> CastOp::differentiate(OpBuilder &builder,
                                         ValueRange gradients) {
  if (isInteger(getInput()))
    return {Value()};
  return {
      Formula(builder, getLoc()).cast(gradients[0], elementTypeOf(getInput()))};
}

//===----------------------------------------------------------------------===//
// sum
//===----------------------------------------------------------------------===//

ShardingRule SumOp::getShardingRule() {
  ShardingRule rule = elementwiseRule(*this);
  for (FactorMapping &operand : rule.operands)
    operand.linear = true;
  rule.additive = true;
  return rule;
}

KernelSpec SumOp::getKernelSpec() {
  MapProgram program;
  program.input(0);
  for (size_t i = 1; i < getInputs().size(); ++i)
    program.input(i).apply(map_opcode::Add);
  return mapKernel(program, 0);
}

LogicalResult SumOp::evaluate(Operands operands, Results results) {
  return evaluateLanes(operands, results, [](ArrayRef<double> x) {
    double sum = x[0];
    for (double term : x.drop_front())
      sum += term;
    return sum;
  });
}

SmallVector<Value> SumOp::differentiate(OpBuilder &, ValueRange gradients) {
  return SmallVector<Value>(getInputs().size(), gradients[0]);
}

OpFoldResult SumOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs()[0] : Value();
}

namespace {

/// sum(a, sum(b, c), d) -> sum(a, b, c, d) where the inner sum has no other
/// use, so that all terms are seen at once.
struct FlattenSum : OpRewritePattern<SumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> terms;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<SumOp>();
      if (inner && input.hasOneUse())
        llvm::append_range(terms, inner.getInputs());
      else
        terms.push_back(input);
    }
    if (terms.size() == op.getInputs().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(terms); });
    return success();
  }
};

} // namespace

void SumOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<FlattenSum>(context);
}

//===----------------------------------------------------------------------===//
// sharding_constraint
//===----------------------------------------------------------------------===//

LogicalResult ShardingConstraintOp::verify() {
  if (ShardingAttr sharding = getShardingAttr())
    if (failed(sharding.verifyFor(*this, getInput().getType(), "sharding")))
      return failure();
  return success();
}

ShardingRule ShardingConstraintOp::getShardingRule() {
  ShardingRule rule = elementwiseRule(*this);
  rule.operands[0].linear = true;
  return rule;
}

KernelSpec ShardingConstraintOp::getKernelSpec() { return {}; }

LogicalResult ShardingConstraintOp::evaluate(Operands operands,
                                             Results results) {
  results[0] = *operands[0];
  return success();
}

/// The gradient is annotated as the activation is, so that presets place the
/// collectives of the backward pass too. That of a sum over ranks is copied to
/// each of them. (That of a copy is a sum over them only where it is made as
/// one; annotations of named activations say so.)
SmallVector<Value> ShardingConstraintOp::differentiate(OpBuilder &builder,
                                                       ValueRange gradients) {
  ShardingAttr sharding = getShardingAttr();
  if (sharding)
    sharding =
        ShardingAttr::get(getContext(), sharding.getMesh(), sharding.getDims(),
                          sharding.getUnreduced(), ArrayRef<AxisRefAttr>());
  return {ShardingConstraintOp::create(builder, getLoc(), gradients[0],
                                       sharding, getViewAttr())};
}

} // namespace tandem

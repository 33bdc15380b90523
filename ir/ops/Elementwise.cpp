#include "ir/Dialect.h"
#include "ir/ops/MapProgram.h"
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
// types it takes
//===----------------------------------------------------------------------===//

enum class Takes { Floats, Numbers, Bools };

struct UnaryFunction {
  UnaryKind kind;
  int64_t opcode;
  Takes takes;
  bool linear;
  double (*value)(double);
};

const UnaryFunction unaryFunctions[] = {
    {UnaryKind::Neg, map_opcode::Neg, Takes::Numbers, true,
     [](double x) { return -x; }},
    {UnaryKind::Abs, map_opcode::Abs, Takes::Numbers, false,
     [](double x) { return std::fabs(x); }},
    {UnaryKind::Exp, map_opcode::Exp, Takes::Floats, false,
     [](double x) { return std::exp(x); }},
    {UnaryKind::Log, map_opcode::Log, Takes::Floats, false,
     [](double x) { return std::log(x); }},
    {UnaryKind::Sqrt, map_opcode::Sqrt, Takes::Floats, false,
     [](double x) { return std::sqrt(x); }},
    {UnaryKind::Rsqrt, map_opcode::Rsqrt, Takes::Floats, false,
     [](double x) { return 1 / std::sqrt(x); }},
    {UnaryKind::Tanh, map_opcode::Tanh, Takes::Floats, false,
     [](double x) { return std::tanh(x); }},
    {UnaryKind::Erf, map_opcode::Erf, Takes::Floats, false,
     [](double x) { return std::erf(x); }},
    {UnaryKind::Sigmoid, map_opcode::Sigmoid, Takes::Floats, false,
     [](double x) { return 1 / (1 + std::exp(-x)); }},
    {UnaryKind::Relu, map_opcode::Relu, Takes::Floats, false,
     [](double x) { return x < 0 ? 0 : x; }},
    {UnaryKind::Sin, map_opcode::Sin, Takes::Floats, false,
     [](double x) { return std::sin(x); }},
    {UnaryKind::Cos, map_opcode::Cos, Takes::Floats, false,
     [](double x) { return std::cos(x); }},
    {UnaryKind::Reciprocal, map_opcode::Reciprocal, Takes::Floats, false,
     [](double x) { return 1 / x; }},
    {UnaryKind::Floor, map_opcode::Floor, Takes::Floats, false,
     [](double x) { return std::floor(x); }},
    {UnaryKind::Not, map_opcode::Not, Takes::Bools, false,
     [](double x) { return x == 0 ? 1.0 : 0.0; }},
};

/// Which operands a binary function is linear in.
enum class Linear { None, Left, Each, Together };

struct BinaryFunction {
  BinaryKind kind;
  int64_t opcode;
  Takes takes;
  Linear linear;
  double (*value)(double, double);
};

double largerOrNan(double x, double y) {
  return std::isnan(x) || x > y ? x : y;
}
double smallerOrNan(double x, double y) {
  return std::isnan(x) || x < y ? x : y;
}

const BinaryFunction binaryFunctions[] = {
    {BinaryKind::Sub, map_opcode::Sub, Takes::Numbers, Linear::Together,
     [](double x, double y) { return x - y; }},
    {BinaryKind::Mul, map_opcode::Mul, Takes::Numbers, Linear::Each,
     [](double x, double y) { return x * y; }},
    {BinaryKind::Div, map_opcode::Div, Takes::Numbers, Linear::Left,
     [](double x, double y) { return x / y; }},
    {BinaryKind::Max, map_opcode::Max, Takes::Numbers, Linear::None,
     largerOrNan},
    {BinaryKind::Min, map_opcode::Min, Takes::Numbers, Linear::None,
     smallerOrNan},
    {BinaryKind::Pow, map_opcode::Pow, Takes::Numbers, Linear::None,
     [](double x, double y) { return std::pow(x, y); }},
    {BinaryKind::Rem, map_opcode::Rem, Takes::Numbers, Linear::None,
     [](double x, double y) { return std::fmod(x, y); }},
    {BinaryKind::And, map_opcode::And, Takes::Bools, Linear::None,
     [](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; }},
    {BinaryKind::Or, map_opcode::Or, Takes::Bools, Linear::None,
     [](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }},
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

struct GeluFunction {
  GeluKind kind;
  int64_t opcode;
  double (*value)(double);
};

const GeluFunction geluFunctions[] = {
    {GeluKind::None, map_opcode::GeluErf,
     [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
    {GeluKind::Tanh, map_opcode::GeluTanh,
     [](double x) {
       double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
       return x / 2 * (1 + std::tanh(inner));
     }},
    {GeluKind::Quick, map_opcode::GeluQuick,
     [](double x) { return x / (1 + std::exp(-1.702 * x)); }},
};

/// The row of `table` for `kind`; every kind has one.
template <typename Row, size_t n, typename Kind>
const Row &rowOf(const Row (&table)[n], Kind kind) {
  for (const Row &row : table)
    if (row.kind == kind)
      return row;
  llvm_unreachable("a kind without a row");
}

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

using Lanes = function_ref<double(ArrayRef<double>)>;

/// result[i] = lane(operands[...][i]) for every valid lane.
LogicalResult evaluateLanes(Operands operands, Results results, Lanes lane) {
  std::vector<double> values(operands.size());
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    for (size_t i = 0; i < operands.size(); ++i)
      values[i] = operands[i]->at(index);
    results[0].at(index) = lane(values);
  });
  return success();
}

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

KernelSpec mapKernel(const MapProgram &program, int inPlaceOperand) {
  return {"map", program.numbers(), inPlaceOperand, false};
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
// gelu and silu
//===----------------------------------------------------------------------===//

ShardingRule GeluOp::getShardingRule() { return elementwiseRule(*this); }

KernelSpec GeluOp::getKernelSpec() {
  int64_t opcode = rowOf(geluFunctions, getApproximate()).opcode;
  return mapKernel(MapProgram().input(0).apply(opcode), 0);
}

LogicalResult GeluOp::evaluate(Operands operands, Results results) {
  auto *function = rowOf(geluFunctions, getApproximate()).value;
  return evaluateLanes(operands, results,
                       [&](ArrayRef<double> x) { return function(x[0]); });
}

ShardingRule SiluOp::getShardingRule() { return elementwiseRule(*this); }

KernelSpec SiluOp::getKernelSpec() {
  return mapKernel(MapProgram().input(0).apply(map_opcode::Silu), 0);
}

LogicalResult SiluOp::evaluate(Operands operands, Results results) {
  return evaluateLanes(operands, results, [](ArrayRef<double> x) {
    return x[0] / (1 + std::exp(-x[0]));
  });
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

} // namespace tandem

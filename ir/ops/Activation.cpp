#include "ir/Dialect.h"
#include "ir/ops/Lanes.h"
#include "ir/ops/Shapes.h"

#include <cmath>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

/// An activation, its derivative and the opcodes that compute them.
struct Activation {
  int64_t opcode, gradientOpcode;
  double (*value)(double);
  double (*derivative)(double);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// What tanh is taken of.
double tanhArgument(double x) {
  return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}
double tanhArgumentSlope(double x) {
  return std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

struct GeluFunction {
  GeluKind kind;
  Activation activation;
};

const GeluFunction geluFunctions[] = {
    {GeluKind::None,
     {map_opcode::GeluErf, map_opcode::GeluErfGrad,
      [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); },
      [](double x) {
        double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
        return (1 + std::erf(x / std::sqrt(2.0))) / 2 + x * density;
      }}},
    {GeluKind::Tanh,
     {map_opcode::GeluTanh, map_opcode::GeluTanhGrad,
      [](double x) { return x / 2 * (1 + std::tanh(tanhArgument(x))); },
      [](double x) {
        double t = std::tanh(tanhArgument(x));
        return (1 + t) / 2 + x / 2 * (1 - t * t) * tanhArgumentSlope(x);
      }}},
    {GeluKind::Quick,
     {map_opcode::GeluQuick, map_opcode::GeluQuickGrad,
      [](double x) { return x * sigmoid(1.702 * x); },
      [](double x) {
        double s = sigmoid(1.702 * x);
        return s + 1.702 * x * s * (1 - s);
      }}},
};

const Activation silu = {map_opcode::Silu, map_opcode::SiluGrad,
                         [](double x) { return x * sigmoid(x); },
                         [](double x) {
                           double s = sigmoid(x);
                           return s * (1 + x * (1 - s));
                         }};

const Activation &activationOf(GeluKind kind) {
  return rowOf(geluFunctions, kind).activation;
}

KernelSpec kernelOf(const Activation &activation) {
  return mapKernel(MapProgram().input(0).apply(activation.opcode), 0);
}

LogicalResult evaluate(const Activation &activation, Operands operands,
                       Results results) {
  return evaluateLanes(operands, results, [&](ArrayRef<double> x) {
    return activation.value(x[0]);
  });
}

//===----------------------------------------------------------------------===//
// Gradients: operands x and dy
//===----------------------------------------------------------------------===//

LogicalResult verifyGradient(Operation *op) {
  Value input = op->getOperand(0);
  return failure(failed(expectLike(op, "gradient", op->getOperand(1), input)) ||
                 failed(expectLike(op, "result", op->getResult(0), input)));
}

ShardingRule gradientRule(Operation *op) {
  ShardingRule rule = elementwiseRule(op);
  rule.operands[1].linear = true;
  return rule;
}

KernelSpec gradientKernelOf(const Activation &activation) {
  MapProgram program;
  program.input(0).input(1).apply(activation.gradientOpcode);
  return mapKernel(program, 1);
}

LogicalResult evaluateGradient(const Activation &activation, Operands operands,
                               Results results) {
  return evaluateLanes(operands, results, [&](ArrayRef<double> x) {
    return activation.derivative(x[0]) * x[1];
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// gelu
//===----------------------------------------------------------------------===//

ShardingRule GeluOp::getShardingRule() { return elementwiseRule(*this); }

KernelSpec GeluOp::getKernelSpec() {
  return kernelOf(activationOf(getApproximate()));
}

LogicalResult GeluOp::evaluate(Operands operands, Results results) {
  return tandem::evaluate(activationOf(getApproximate()), operands, results);
}

SmallVector<Value> GeluOp::differentiate(OpBuilder &builder,
                                         ValueRange gradients) {
  return {GeluGradOp::create(builder, getLoc(), getInput().getType(),
                             getInput(), gradients[0], getApproximate())};
}

LogicalResult GeluGradOp::verify() { return verifyGradient(*this); }

ShardingRule GeluGradOp::getShardingRule() { return gradientRule(*this); }

KernelSpec GeluGradOp::getKernelSpec() {
  return gradientKernelOf(activationOf(getApproximate()));
}

LogicalResult GeluGradOp::evaluate(Operands operands, Results results) {
  return evaluateGradient(activationOf(getApproximate()), operands, results);
}

//===----------------------------------------------------------------------===//
// silu
//===----------------------------------------------------------------------===//

ShardingRule SiluOp::getShardingRule() { return elementwiseRule(*this); }

KernelSpec SiluOp::getKernelSpec() { return kernelOf(silu); }

LogicalResult SiluOp::evaluate(Operands operands, Results results) {
  return tandem::evaluate(silu, operands, results);
}

SmallVector<Value> SiluOp::differentiate(OpBuilder &builder,
                                         ValueRange gradients) {
  return {SiluGradOp::create(builder, getLoc(), getInput().getType(),
                             getInput(), gradients[0])};
}

LogicalResult SiluGradOp::verify() { return verifyGradient(*this); }

ShardingRule SiluGradOp::getShardingRule() { return gradientRule(*this); }

KernelSpec SiluGradOp::getKernelSpec() { return gradientKernelOf(silu); }

LogicalResult SiluGradOp::evaluate(Operands operands, Results results) {
  return evaluateGradient(silu, operands, results);
}

} // namespace tandem

#include "ir/ops/Formula.h"
#include "ir/ops/Shapes.h"

#include <cmath>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

/// The first `tensors` operands are alike, the others scalars of their type.
LogicalResult verifyStep(Operation *op, ArrayRef<StringRef> names,
                         size_t tensors) {
  Value parameter = op->getOperand(0);
  Type element = elementTypeOf(parameter);
  if (!element.isF32() && !element.isF64())
    return op->emitOpError() << names[0] << " has element type " << element
                             << ", expected f32 or f64";
  for (size_t i = 1; i < names.size(); ++i) {
    Value operand = op->getOperand(i);
    if (failed(expectShape(op, names[i], operand,
                           i < tensors ? shapeOf(parameter)
                                       : std::vector<int64_t>())))
      return failure();
    if (isa<FloatType>(elementTypeOf(operand)) &&
        failed(expectElementType(op, names[i], operand, element)))
      return failure();
  }
  return success();
}

/// Tensors pass through lane by lane, scalars lie whole on every rank.
ShardingRule stepRule(Operation *op, size_t tensors) {
  ShardingRule rule = elementwiseRule(op);
  for (size_t i = tensors; i < op->getNumOperands(); ++i)
    rule.operands[i] = FactorMapping();
  return rule;
}

KernelSpec stepKernel(const char *name, bool decay, int results) {
  KernelSpec spec{name, {decay}, -1, false};
  spec.sharedResults = results;
  return spec;
}

/// The numbers that operands behind the first `tensors` hold.
std::vector<double> scalarsOf(Operands operands, size_t tensors) {
  std::vector<double> scalars;
  for (const Tensor *scalar : operands.drop_front(tensors))
    scalars.push_back(scalar->at({}));
  return scalars;
}

} // namespace

//===----------------------------------------------------------------------===//
// adamw
//===----------------------------------------------------------------------===//

LogicalResult AdamWOp::verify() {
  static const StringRef names[] = {"parameter",    "exp_avg", "exp_avg_sq",
                                    "gradient",     "scale",   "learning_rate",
                                    "beta1",        "beta2",   "epsilon",
                                    "weight_decay", "step"};
  return verifyStep(*this, names, 4);
}

ShardingRule AdamWOp::getShardingRule() { return stepRule(*this, 4); }

KernelSpec AdamWOp::getKernelSpec() {
  return stepKernel("adamw", getDecay(), 3);
}

LogicalResult AdamWOp::evaluate(Operands operands, Results results) {
  std::vector<double> s = scalarsOf(operands, 4);
  double scale = s[0], rate = s[1], beta1 = s[2], beta2 = s[3];
  double epsilon = s[4], decay = getDecay() ? s[5] : 0, step = s[6];
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    double g = scale * operands[3]->at(index);
    double m = beta1 * operands[1]->at(index) + (1 - beta1) * g;
    double v = beta2 * operands[2]->at(index) + (1 - beta2) * g * g;
    double mean = m / (1 - std::pow(beta1, step));
    double deviation = std::sqrt(v / (1 - std::pow(beta2, step)));
    results[0].at(index) = (1 - rate * decay) * operands[0]->at(index) -
                           rate * mean / (deviation + epsilon);
    results[1].at(index) = m;
    results[2].at(index) = v;
  });
  return success();
}

//===----------------------------------------------------------------------===//
// sgd
//===----------------------------------------------------------------------===//

LogicalResult SgdOp::verify() {
  static const StringRef names[] = {
      "parameter",     "momentum_buffer", "gradient",    "scale",
      "learning_rate", "momentum",        "weight_decay"};
  return verifyStep(*this, names, 3);
}

ShardingRule SgdOp::getShardingRule() { return stepRule(*this, 3); }

KernelSpec SgdOp::getKernelSpec() { return stepKernel("sgd", getDecay(), 2); }

LogicalResult SgdOp::evaluate(Operands operands, Results results) {
  std::vector<double> s = scalarsOf(operands, 3);
  double scale = s[0], rate = s[1], momentum = s[2];
  double decay = getDecay() ? s[3] : 0;
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    double p = operands[0]->at(index);
    double g = scale * operands[2]->at(index) + decay * p;
    double m = momentum * operands[1]->at(index) + g;
    results[0].at(index) = p - rate * m;
    results[1].at(index) = m;
  });
  return success();
}

} // namespace tandem

#include "ir/Dialect.h"
#include "ir/ops/RowForm.h"
#include "ir/ops/Shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

/// Dimension i of the first operand and of the result is factor i; the last
/// is of that kind.
ShardingRule lastDimRule(Operation *op, FactorKind last) {
  std::vector<int64_t> shape = shapeOf(op->getResult(0));
  ShardingRule rule;
  for (int64_t size : shape)
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  if (!shape.empty())
    rule.factors.back().kind = last;
  rule.operands.push_back(consecutiveFactors(shape.size()));
  rule.results.push_back(consecutiveFactors(shape.size()));
  return rule;
}

/// An operand that has only the rule's last dimension (a norm's weight).
void addLastDimOperand(ShardingRule &rule) {
  rule.operands.push_back(
      consecutiveFactors(1, static_cast<int32_t>(rule.factors.size()) - 1));
}

/// The rule of gradients: the operands x, weight and dy, the results dx and as
/// many as the operation has of the weight's size.
ShardingRule gradientRule(Operation *op) {
  ShardingRule rule = lastDimRule(op, FactorKind::Selection);
  addLastDimOperand(rule);
  FactorMapping weight = rule.operands[1];
  rule.operands.push_back(rule.operands[0]);
  rule.operands[2].linear = true;
  rule.results.resize(op->getNumResults(), weight);
  return rule;
}

/// A row along the last dimension: how many valid lanes it has and where.
using Row = function_ref<void(const double *from, double *to, int64_t size)>;

/// Calls `body` with each valid row of the last dimension.
LogicalResult forEachRow(const Tensor &input, Tensor &result, Row body) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d + 1 < input.rank(); ++d)
    sizes.push_back(input.dim(d).valid);
  forEachIndex(sizes, [&](std::vector<int64_t> index) {
    index.push_back(0);
    body(&input.data()[input.offset(index)],
         &result.data()[result.offset(index)],
         input.dim(input.rank() - 1).valid);
  });
  return success();
}

LogicalResult expectDims(Operation *op) {
  if (!shapeOf(op->getOperand(0)).empty())
    return success();
  return op->emitOpError("operand has no dimensions, expected at least one");
}

/// `value` has the first operand's last dimension only.
LogicalResult expectLastDim(Operation *op, StringRef what, Value value) {
  if (failed(expectDims(op)))
    return failure();
  return expectShape(op, what, value, {shapeOf(op->getOperand(0)).back()});
}

/// The operands of a norm's gradients, and results that have their types.
LogicalResult verifyGradients(Operation *op) {
  Value input = op->getOperand(0);
  if (failed(expectLastDim(op, "weight", op->getOperand(1))) ||
      failed(expectLike(op, "gradient", op->getOperand(2), input)) ||
      failed(expectLike(op, "result 0", op->getResult(0), input)))
    return failure();
  Type wide = statisticsType(elementTypeOf(input));
  for (unsigned i = 1; i < op->getNumResults(); ++i) {
    std::string what = "result " + std::to_string(i);
    if (failed(expectLastDim(op, what, op->getResult(i))) ||
        failed(expectElementType(op, what, op->getResult(i), wide)))
      return failure();
  }
  return success();
}

/// The type of the gradient of `parameter` as a norm of `input` gives it: as
/// wide as sums are, and not rounded before microbatches are added.
Type sumType(Value parameter, Value input) {
  return cast<RankedTensorType>(parameter.getType())
      .clone(statisticsType(elementTypeOf(input)));
}

/// One row of a norm's gradients.
struct GradientRow {
  const double *x, *weight, *dy;
  double *dx;
  int64_t size;

  /// The mean of `f` over the row's lanes.
  double mean(function_ref<double(int64_t)> f) const {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i)
      sum += f(i);
    return sum / size;
  }
};

/// Calls `body` with each valid row; the results behind the first, sums over
/// rows, begin as zeros.
LogicalResult forEachGradientRow(Operands operands, Results results,
                                 function_ref<void(const GradientRow &)> body) {
  for (Tensor &sum : results.drop_front())
    sum.forEachValid([&](const std::vector<int64_t> &i) { sum.at(i) = 0; });
  const Tensor &input = *operands[0];
  return forEachRow(input, results[0],
                    [&](const double *x, double *dx, int64_t size) {
                      size_t at = x - input.data().data();
                      body({x, operands[1]->data().data(),
                            operands[2]->data().data() + at, dx, size});
                    });
}

} // namespace

//===----------------------------------------------------------------------===//
// rms_norm
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  return expectLastDim(*this, "weight", getWeight());
}

ShardingRule RmsNormOp::getShardingRule() {
  ShardingRule rule = lastDimRule(*this, FactorKind::Selection);
  addLastDimOperand(rule);
  return rule;
}

KernelSpec RmsNormOp::getKernelSpec() {
  return {"rms_norm",
          {numberBits(getEpsilon().convertToDouble()),
           numberBits(getWeightOffset().convertToDouble())},
          -1,
          false};
}

std::optional<int64_t> RmsNormOp::combinedBytes(int32_t, int64_t) {
  return RowForm::statisticsBytes(getInput(), 1);
}

SmallVector<Value> RmsNormOp::expand(OpBuilder &builder, int32_t, int64_t) {
  RowForm form(builder, getLoc(), getInput());
  Value x = form.lanes();
  Value squares = form.mean(form.mul(x, x));
  Value scale = form.inverseDeviation(squares, getEpsilon());
  Value weight =
      form.overRows(getWeight(), getWeightOffset().convertToDouble());
  Value scaled = form.mul(x, form.overLanes(scale));
  return {form.rounded(form.mul(scaled, weight))};
}

LogicalResult RmsNormOp::evaluate(Operands operands, Results results) {
  double epsilon = getEpsilon().convertToDouble();
  double offset = getWeightOffset().convertToDouble();
  const double *weight = operands[1]->data().data();
  return forEachRow(*operands[0], results[0],
                    [&](const double *x, double *y, int64_t size) {
                      double squares = 0;
                      for (int64_t i = 0; i < size; ++i)
                        squares += x[i] * x[i];
                      double scale = 1 / std::sqrt(squares / size + epsilon);
                      for (int64_t i = 0; i < size; ++i)
                        y[i] = x[i] * scale * (offset + weight[i]);
                    });
}

SmallVector<Value> RmsNormOp::differentiate(OpBuilder &builder,
                                            ValueRange gradients) {
  auto grad = RmsNormGradOp::create(
      builder, getLoc(), getInput().getType(), sumType(getWeight(), getInput()),
      getInput(), getWeight(), gradients[0], getEpsilon(), getWeightOffset());
  return {grad.getInputGradient(), grad.getWeightGradient()};
}

//===----------------------------------------------------------------------===//
// rms_norm_grad
//===----------------------------------------------------------------------===//

LogicalResult RmsNormGradOp::verify() { return verifyGradients(*this); }

ShardingRule RmsNormGradOp::getShardingRule() { return gradientRule(*this); }

KernelSpec RmsNormGradOp::getKernelSpec() {
  return {"rms_norm_grad",
          {numberBits(getEpsilon().convertToDouble()),
           numberBits(getWeightOffset().convertToDouble())},
          2,
          false};
}

std::optional<int64_t> RmsNormGradOp::combinedBytes(int32_t, int64_t) {
  return RowForm::statisticsBytes(getInput(), 2);
}

SmallVector<Value> RmsNormGradOp::expand(OpBuilder &builder, int32_t, int64_t) {
  RowForm form(builder, getLoc(), getInput());
  Value x = form.lanes(), dy = form.widened(getGradient());
  Value squares = form.mean(form.mul(x, x));
  Value scale = form.overLanes(form.inverseDeviation(squares, getEpsilon()));
  Value normed = form.mul(x, scale);
  Value u = form.mul(
      form.overRows(getWeight(), getWeightOffset().convertToDouble()), dy);
  Value shared = form.overLanes(form.mean(form.mul(normed, u)));
  Value dx = form.mul(scale, form.sub(u, form.mul(normed, shared)));
  return {form.rounded(dx), form.sumOfRows(form.mul(dy, normed))};
}

LogicalResult RmsNormGradOp::evaluate(Operands operands, Results results) {
  double epsilon = getEpsilon().convertToDouble();
  double offset = getWeightOffset().convertToDouble();
  double *dw = results[1].data().data();
  return forEachGradientRow(operands, results, [&](const GradientRow &row) {
    double squares = row.mean([&](int64_t i) { return row.x[i] * row.x[i]; });
    double scale = 1 / std::sqrt(squares + epsilon);
    auto u = [&](int64_t i) { return (offset + row.weight[i]) * row.dy[i]; };
    double shared = row.mean([&](int64_t i) { return row.x[i] * u(i); });
    for (int64_t i = 0; i < row.size; ++i) {
      row.dx[i] = scale * u(i) - row.x[i] * std::pow(scale, 3) * shared;
      dw[i] += row.dy[i] * row.x[i] * scale;
    }
  });
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::verify() {
  if (failed(expectLastDim(*this, "weight", getWeight())))
    return failure();
  if (Value bias = getBias())
    if (failed(expectLastDim(*this, "bias", bias)))
      return failure();
  return success();
}

ShardingRule LayerNormOp::getShardingRule() {
  ShardingRule rule = lastDimRule(*this, FactorKind::Selection);
  for (unsigned i = 1; i < getNumOperands(); ++i)
    addLastDimOperand(rule);
  return rule;
}

KernelSpec LayerNormOp::getKernelSpec() {
  return {
      "layer_norm", {numberBits(getEpsilon().convertToDouble())}, -1, false};
}

std::optional<int64_t> LayerNormOp::combinedBytes(int32_t, int64_t) {
  return RowForm::statisticsBytes(getInput(), 2);
}

SmallVector<Value> LayerNormOp::expand(OpBuilder &builder, int32_t, int64_t) {
  RowForm form(builder, getLoc(), getInput());
  Value mean = form.overLanes(form.mean(form.lanes()));
  Value x = form.sub(form.lanes(), mean);
  Value squares = form.mean(form.mul(x, x));
  Value scale = form.inverseDeviation(squares, getEpsilon());
  Value scaled = form.mul(x, form.overLanes(scale));
  Value result = form.mul(scaled, form.overRows(getWeight()));
  if (Value bias = getBias())
    result = form.add(result, form.overRows(bias));
  return {form.rounded(result)};
}

LogicalResult LayerNormOp::evaluate(Operands operands, Results results) {
  double epsilon = getEpsilon().convertToDouble();
  const double *weight = operands[1]->data().data();
  const double *bias =
      operands.size() > 2 ? operands[2]->data().data() : nullptr;
  return forEachRow(
      *operands[0], results[0], [&](const double *x, double *y, int64_t size) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < size; ++i)
          sum += x[i];
        double mean = sum / size;
        for (int64_t i = 0; i < size; ++i)
          squares += (x[i] - mean) * (x[i] - mean);
        double scale = 1 / std::sqrt(squares / size + epsilon);
        for (int64_t i = 0; i < size; ++i)
          y[i] = (x[i] - mean) * scale * weight[i] + (bias ? bias[i] : 0);
      });
}

SmallVector<Value> LayerNormOp::differentiate(OpBuilder &builder,
                                              ValueRange gradients) {
  SmallVector<Type> types = {getInput().getType()};
  for (Value operand : getOperands().drop_front())
    types.push_back(sumType(operand, getInput()));
  auto grad = LayerNormGradOp::create(builder, getLoc(), types, getInput(),
                                      getWeight(), gradients[0], getEpsilon());
  return SmallVector<Value>(grad->getResults().take_front(getNumOperands()));
}

//===----------------------------------------------------------------------===//
// layer_norm_grad
//===----------------------------------------------------------------------===//

LogicalResult LayerNormGradOp::verify() { return verifyGradients(*this); }

ShardingRule LayerNormGradOp::getShardingRule() { return gradientRule(*this); }

KernelSpec LayerNormGradOp::getKernelSpec() {
  return {"layer_norm_grad",
          {numberBits(getEpsilon().convertToDouble())},
          2,
          false};
}

std::optional<int64_t> LayerNormGradOp::combinedBytes(int32_t, int64_t) {
  return RowForm::statisticsBytes(getInput(), 4);
}

SmallVector<Value> LayerNormGradOp::expand(OpBuilder &builder, int32_t,
                                           int64_t) {
  RowForm form(builder, getLoc(), getInput());
  auto mean = [&](Value lanes) { return form.overLanes(form.mean(lanes)); };
  Value x = form.sub(form.lanes(), mean(form.lanes()));
  Value dy = form.widened(getGradient());
  Value squares = form.mean(form.mul(x, x));
  Value scale = form.overLanes(form.inverseDeviation(squares, getEpsilon()));
  Value normed = form.mul(x, scale),
        u = form.mul(form.overRows(getWeight()), dy);
  Value centred = form.sub(u, mean(u));
  Value along = form.mul(normed, mean(form.mul(normed, u)));
  SmallVector<Value> results = {
      form.rounded(form.mul(scale, form.sub(centred, along))),
      form.sumOfRows(form.mul(dy, normed))};
  if (getBiasGradient())
    results.push_back(form.sumOfRows(dy));
  return results;
}

LogicalResult LayerNormGradOp::evaluate(Operands operands, Results results) {
  double epsilon = getEpsilon().convertToDouble();
  double *dw = results[1].data().data();
  double *db = results.size() > 2 ? results[2].data().data() : nullptr;
  return forEachGradientRow(operands, results, [&](const GradientRow &row) {
    double mean = row.mean([&](int64_t i) { return row.x[i]; });
    auto centred = [&](int64_t i) { return row.x[i] - mean; };
    double squares =
        row.mean([&](int64_t i) { return std::pow(centred(i), 2); });
    double scale = 1 / std::sqrt(squares + epsilon);
    auto u = [&](int64_t i) { return row.weight[i] * row.dy[i]; };
    double level = row.mean(u);
    double shared = row.mean([&](int64_t i) { return centred(i) * u(i); });
    for (int64_t i = 0; i < row.size; ++i) {
      row.dx[i] =
          scale * (u(i) - level) - centred(i) * std::pow(scale, 3) * shared;
      dw[i] += row.dy[i] * centred(i) * scale;
      if (db)
        db[i] += row.dy[i];
    }
  });
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() { return expectDims(*this); }

ShardingRule SoftmaxOp::getShardingRule() {
  return lastDimRule(*this, FactorKind::Selection);
}

KernelSpec SoftmaxOp::getKernelSpec() { return {"softmax", {}, -1, false}; }

std::optional<int64_t> SoftmaxOp::combinedBytes(int32_t, int64_t) {
  return RowForm::statisticsBytes(getInput(), 2);
}

SmallVector<Value> SoftmaxOp::differentiate(OpBuilder &builder,
                                            ValueRange gradients) {
  RowForm form(builder, getLoc(), getResult());
  Value y = form.lanes(), dy = form.widened(gradients[0]);
  Value along = form.reduce(ReduceKind::Sum, form.mul(y, dy));
  Value apart = form.sub(dy, form.overLanes(along));
  return {form.rounded(form.mul(y, apart))};
}

SmallVector<Value> SoftmaxOp::expand(OpBuilder &builder, int32_t, int64_t) {
  RowForm form(builder, getLoc(), getInput());
  Value largest = form.overLanes(form.reduce(ReduceKind::Max, form.lanes()));
  Value x = form.sub(form.lanes(), largest);
  Value terms = form.unary(UnaryKind::Exp, x);
  Value sum = form.overLanes(form.reduce(ReduceKind::Sum, terms));
  return {form.rounded(form.div(terms, sum))};
}

LogicalResult SoftmaxOp::evaluate(Operands operands, Results results) {
  return forEachRow(*operands[0], results[0],
                    [](const double *x, double *y, int64_t size) {
                      double largest = *std::max_element(x, x + size);
                      double sum = 0;
                      for (int64_t i = 0; i < size; ++i)
                        sum += y[i] = std::exp(x[i] - largest);
                      for (int64_t i = 0; i < size; ++i)
                        y[i] /= sum;
                    });
}

} // namespace tandem

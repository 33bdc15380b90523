#include "ir/ops/RowForm.h"
#include "ir/ops/Shapes.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;
using Index = std::vector<int64_t>;

/// Logits with the last dimension as that kind of factor; all other operands
/// have the leading ones.
ShardingRule lossRule(Operation *op, FactorKind last) {
  Index shape = shapeOf(op->getOperand(0));
  ShardingRule rule;
  for (int64_t size : shape)
    rule.factors.push_back({size});
  rule.factors.back().kind = last;
  rule.operands.assign(op->getNumOperands(),
                       consecutiveFactors(shape.size() - 1));
  rule.operands[0] = consecutiveFactors(shape.size());
  return rule;
}

/// `value` has the leading dimensions of the logits.
LogicalResult expectRows(Operation *op, StringRef what, Value value) {
  Index rows = shapeOf(op->getOperand(0));
  if (rows.empty())
    return op->emitOpError("logits have no dimensions, expected at least one");
  rows.pop_back();
  return expectShape(op, what, value, rows);
}

/// The same, of the type of statistics.
LogicalResult expectStatistics(Operation *op, StringRef what, Value value) {
  return failure(
      failed(expectRows(op, what, value)) ||
      failed(expectElementType(
          op, what, value, statisticsType(elementTypeOf(op->getOperand(0))))));
}

/// Every label is ignored or a lane that some rank holds.
LogicalResult expectLabels(Operation *op, const Tensor &labels, int64_t ignored,
                           int64_t size) {
  std::optional<int64_t> wrong;
  labels.forEachValid([&](const Index &row) {
    auto label = static_cast<int64_t>(labels.at(row));
    if (label != ignored && (label < 0 || label >= size))
      wrong = label;
  });
  if (!wrong)
    return success();
  return op->emitOpError() << "label " << *wrong << " is outside 0 to "
                           << size - 1 << " and not " << ignored;
}

} // namespace

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::verify() {
  return failure(failed(expectRows(*this, "labels", getLabels())) ||
                 failed(expectStatistics(*this, "loss", getLoss())) ||
                 failed(expectStatistics(*this, "lse", getLse())));
}

ShardingRule CrossEntropyOp::getShardingRule() {
  ShardingRule rule = lossRule(*this, FactorKind::Selection);
  rule.results.assign(2, rule.operands[1]);
  return rule;
}

KernelSpec CrossEntropyOp::getKernelSpec() {
  return {"cross_entropy", {static_cast<int64_t>(getIgnored())}, -1, false};
}

std::optional<int64_t> CrossEntropyOp::combinedBytes(int32_t, int64_t) {
  return RowForm::statisticsBytes(getLogits(), 3);
}

SmallVector<Value> CrossEntropyOp::expand(OpBuilder &builder, int32_t,
                                          int64_t) {
  RowForm form(builder, getLoc(), getLogits());
  Value largest = form.reduce(ReduceKind::Max, form.lanes());
  Value x = form.sub(form.lanes(), form.overLanes(largest));
  Value sum = form.reduce(ReduceKind::Sum, form.unary(UnaryKind::Exp, x));
  Value lse = form.add(largest, form.unary(UnaryKind::Log, sum));
  Value counted = form.compare(CompareKind::Ne, getLabels(),
                               static_cast<int64_t>(getIgnored()));
  Value logit = form.pick(form.where(counted, getLabels()));
  return {form.where(counted, form.sub(lse, logit)), lse};
}

LogicalResult CrossEntropyOp::evaluate(Operands operands, Results results) {
  const Tensor &logits = *operands[0], &labels = *operands[1];
  const LocalDim &last = logits.dims().back();
  int64_t ignored = getIgnored();
  if (failed(expectLabels(*this, labels, ignored, last.global)))
    return failure();
  results[0].forEachValid([&](const Index &row) {
    Index first = row;
    first.push_back(0);
    const double *x = &logits.data()[logits.offset(first)];
    double largest = *std::max_element(x, x + last.valid), sum = 0;
    for (int64_t i = 0; i < last.valid; ++i)
      sum += std::exp(x[i] - largest);
    double lse = largest + std::log(sum);
    auto label = static_cast<int64_t>(labels.at(row));
    results[0].at(row) = label == ignored ? 0 : lse - x[label];
    results[1].at(row) = lse;
  });
  return success();
}

SmallVector<Value> CrossEntropyOp::differentiate(OpBuilder &builder,
                                                 ValueRange gradients) {
  Value result;
  if (gradients[0])
    result = CrossEntropyGradOp::create(
        builder, getLoc(), getLogits().getType(), getLogits(), getLabels(),
        getLse(), gradients[0], getIgnoredAttr());
  if (gradients[1]) {
    RowForm form(builder, getLoc(), getLogits());
    Value p = form.unary(UnaryKind::Exp,
                         form.sub(form.lanes(), form.overLanes(getLse())));
    Value ofLse = form.rounded(form.mul(p, form.overLanes(gradients[1])));
    result = result ? form.add(result, ofLse) : ofLse;
  }
  return {result, Value()};
}

//===----------------------------------------------------------------------===//
// cross_entropy_grad
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyGradOp::verify() {
  return failure(failed(expectRows(*this, "labels", getLabels())) ||
                 failed(expectStatistics(*this, "lse", getLse())) ||
                 failed(expectStatistics(*this, "gradient", getGradient())) ||
                 failed(expectLike(*this, "result", getResult(), getLogits())));
}

ShardingRule CrossEntropyGradOp::getShardingRule() {
  ShardingRule rule = lossRule(*this, FactorKind::PassThrough);
  rule.results.push_back(rule.operands[0]);
  rule.operands[3].linear = true;
  return rule;
}

KernelSpec CrossEntropyGradOp::getKernelSpec() {
  return {"cross_entropy_grad", {static_cast<int64_t>(getIgnored())}, 0, false};
}

LogicalResult CrossEntropyGradOp::evaluate(Operands operands, Results results) {
  const Tensor &logits = *operands[0], &labels = *operands[1];
  const LocalDim &last = logits.dims().back();
  int64_t ignored = getIgnored();
  if (failed(expectLabels(*this, labels, ignored, last.global)))
    return failure();
  results[0].forEachValid([&](const Index &index) {
    Index row(index.begin(), index.end() - 1);
    auto label = static_cast<int64_t>(labels.at(row));
    double p = std::exp(logits.at(index) - operands[2]->at(row));
    double hit = label == last.begin + index.back() ? 1 : 0;
    results[0].at(index) =
        label == ignored ? 0 : (p - hit) * operands[3]->at(row);
  });
  return success();
}

} // namespace tandem

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
  Value squares = form.mean(form.binary(BinaryKind::Mul, x, x));
  Value scale = form.inverseDeviation(squares, getEpsilon());
  Value weight =
      form.overRows(getWeight(), getWeightOffset().convertToDouble());
  Value scaled = form.binary(BinaryKind::Mul, x, form.overLanes(scale));
  return {form.rounded(form.binary(BinaryKind::Mul, scaled, weight))};
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
  Value x = form.binary(BinaryKind::Sub, form.lanes(), mean);
  Value squares = form.mean(form.binary(BinaryKind::Mul, x, x));
  Value scale = form.inverseDeviation(squares, getEpsilon());
  Value scaled = form.binary(BinaryKind::Mul, x, form.overLanes(scale));
  Value result =
      form.binary(BinaryKind::Mul, scaled, form.overRows(getWeight()));
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

SmallVector<Value> SoftmaxOp::expand(OpBuilder &builder, int32_t, int64_t) {
  RowForm form(builder, getLoc(), getInput());
  Value largest = form.overLanes(form.reduce(ReduceKind::Max, form.lanes()));
  Value x = form.binary(BinaryKind::Sub, form.lanes(), largest);
  Value terms = form.unary(UnaryKind::Exp, x);
  Value sum = form.overLanes(form.reduce(ReduceKind::Sum, terms));
  return {form.rounded(form.binary(BinaryKind::Div, terms, sum))};
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

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  std::vector<int64_t> shape = shapeOf(getInput());
  if (shape.size() < 3)
    return emitOpError() << "operand has " << shape.size()
                         << " dimensions, expected at least 3";
  if (failed(expectShape(*this, "positions", getPositions(), {shape[0]})))
    return failure();
  int64_t rotated = 2 * static_cast<int64_t>(getFrequencies().size());
  if (rotated > shape.back())
    return emitOpError() << "frequencies rotate " << rotated
                         << " lanes, expected at most " << shape.back();
  return success();
}

ShardingRule RopeOp::getShardingRule() {
  ShardingRule rule = lastDimRule(*this, FactorKind::MustReplicate);
  rule.operands[0].linear = true;
  rule.operands.push_back(consecutiveFactors(1));
  return rule;
}

KernelSpec RopeOp::getKernelSpec() {
  std::vector<int64_t> numbers = {
      static_cast<int64_t>(getStyle()),
      2 * static_cast<int64_t>(getFrequencies().size()),
      numberBits(getScale().convertToDouble())};
  for (double frequency : getFrequencies())
    numbers.push_back(numberBits(frequency));
  return {"rope", numbers, 0, false};
}

LogicalResult RopeOp::evaluate(Operands operands, Results results) {
  const Tensor &input = *operands[0], &positions = *operands[1];
  size_t last = input.rank() - 1, pairs = getFrequencies().size();
  bool halves = getStyle() == RopeStyle::HalfSplit;
  double scale = getScale().convertToDouble();
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    size_t lane = index[last];
    if (lane >= 2 * pairs) {
      results[0].at(index) = input.at(index);
      return;
    }
    size_t pair = halves ? lane % pairs : lane / 2;
    bool first = halves ? lane < pairs : lane % 2 == 0;
    double position = positions.at({index[0]}) + input.dim(1).begin + index[1];
    double angle = position * getFrequencies()[pair];
    std::vector<int64_t> other = index;
    other[last] = halves ? (first ? lane + pairs : lane - pairs) : lane ^ 1;
    double turned = input.at(index) * std::cos(angle) +
                    (first ? -1 : 1) * input.at(other) * std::sin(angle);
    results[0].at(index) = scale * turned;
  });
  return success();
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  std::vector<int64_t> q = shapeOf(getQuery()), v = shapeOf(getValue());
  std::vector<int64_t> k = shapeOf(getKey());
  if (q.size() != 5)
    return emitOpError() << "query has " << q.size()
                         << " dimensions, expected 5";
  if (v.size() != 4)
    return emitOpError() << "value has " << v.size()
                         << " dimensions, expected 4";
  int64_t batch = q[0], keys = v[1], kv = q[2], group = q[3];
  if (failed(expectShape(*this, "key", getKey(), {batch, keys, kv, q[4]})) ||
      failed(
          expectShape(*this, "value", getValue(), {batch, keys, kv, v[3]})) ||
      failed(expectShape(*this, "positions", getPositions(), {batch})) ||
      failed(expectShape(*this, "result", getResult(),
                         {batch, q[1], kv, group, v[3]})) ||
      failed(expectShape(*this, "second result", getLse(),
                         {batch, q[1], kv, group})))
    return failure();
  if (Value mask = getMask())
    if (failed(expectShape(*this, "mask", mask, {batch, keys})))
      return failure();
  if (Value slopes = getSlopes())
    if (failed(expectShape(*this, "slopes", slopes, {kv, group})))
      return failure();
  Type element = getQuery().getType().getElementType();
  if (!element.isF64())
    element = Float32Type::get(getContext());
  if (failed(expectElementType(*this, "second result", getLse(), element)))
    return failure();
  if (static_cast<int64_t>(getWindow()) < 0)
    return emitOpError() << "window is " << static_cast<int64_t>(getWindow())
                         << ", expected at least 0";
  return success();
}

ShardingRule AttentionOp::getShardingRule() {
  std::string equation = "bskgd,btkd,btke,b";
  std::vector<std::vector<int64_t>> operands = shapesOf(getOperands());
  if (getMask())
    equation += ",bt";
  if (getSlopes())
    equation += ",kg";
  return RuleBuilder(equation + "->bskge,bskg")
      .kind('t', FactorKind::MustReplicate)
      .kind('d', FactorKind::MustReplicate)
      .build(operands, shapesOf(getResults()));
}

KernelSpec AttentionOp::getKernelSpec() {
  int64_t flags = (getMask() ? 1 : 0) | (getSlopes() ? 2 : 0);
  return {"attention",
          {numberBits(getScale().convertToDouble()), getCausal(),
           static_cast<int64_t>(getWindow()),
           numberBits(getSoftcap().convertToDouble()), flags},
          -1,
          false,
          1};
}

uint64_t AttentionOp::getFlops() {
  ArrayRef<int64_t> q = getQuery().getType().getShape();
  ArrayRef<int64_t> v = getValue().getType().getShape();
  uint64_t pairs = uint64_t(q[0]) * q[1] * q[2] * q[3] * v[1];
  return 2 * pairs * (q[4] + v[3]);
}

namespace {

/// One query head at one position against the keys that it sees.
class AttentionRow {
public:
  AttentionRow(AttentionOp op, Operands operands, Results results)
      : op(op), query(*operands[0]), key(*operands[1]), value(*operands[2]),
        positions(*operands[3]), mask(op.getMask() ? operands[4] : nullptr),
        slopes(op.getSlopes() ? operands.back() : nullptr), result(results[0]),
        lse(results[1]) {}

  /// `row` is [batch, sequence, kv, group].
  void evaluate(const std::vector<int64_t> &row) {
    collectScores(row);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const Score &score : scores)
      largest = std::max(largest, score.value);
    for (const Score &score : scores)
      sum += std::exp(score.value - largest);
    lse.at(row) = scores.empty() ? largest : largest + std::log(sum);
    for (int64_t e = 0; e < value.dim(3).valid; ++e) {
      double output = 0;
      for (const Score &score : scores)
        output += std::exp(score.value - largest) / sum *
                  value.at({row[0], score.key, row[2], e});
      result.at({row[0], row[1], row[2], row[3], e}) = output;
    }
  }

private:
  struct Score {
    int64_t key;
    double value;
  };

  bool sees(int64_t batch, double position, int64_t k) {
    double at = static_cast<double>(key.dim(1).begin + k);
    int64_t window = op.getWindow();
    return !(op.getCausal() && at > position) &&
           !(window > 0 && at <= position - window) &&
           !(mask && mask->at({batch, k}) == 0);
  }

  double scoreOf(const std::vector<int64_t> &row, double position, int64_t k) {
    double score = 0;
    for (int64_t d = 0; d < query.dim(4).valid; ++d)
      score += query.at({row[0], row[1], row[2], row[3], d}) *
               key.at({row[0], k, row[2], d});
    score *= op.getScale().convertToDouble();
    double cap = op.getSoftcap().convertToDouble();
    if (cap != 0)
      score = cap * std::tanh(score / cap);
    if (slopes)
      score += slopes->at({row[2], row[3]}) *
               (static_cast<double>(key.dim(1).begin + k) - position);
    return score;
  }

  void collectScores(const std::vector<int64_t> &row) {
    scores.clear();
    double position = positions.at({row[0]}) + query.dim(1).begin + row[1];
    for (int64_t k = 0; k < key.dim(1).valid; ++k)
      if (sees(row[0], position, k))
        scores.push_back({k, scoreOf(row, position, k)});
  }

  AttentionOp op;
  const Tensor &query, &key, &value, &positions;
  const Tensor *mask, *slopes;
  Tensor &result, &lse;
  std::vector<Score> scores;
};

} // namespace

LogicalResult AttentionOp::evaluate(Operands operands, Results results) {
  AttentionRow attention(*this, operands, results);
  results[1].forEachValid(
      [&](const std::vector<int64_t> &row) { attention.evaluate(row); });
  return success();
}

} // namespace tandem

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

} // namespace

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
  ShardingRule rule = elementwiseRule(*this);
  rule.factors.back().kind = FactorKind::MustReplicate;
  rule.operands[0].linear = true;
  rule.operands[1] = consecutiveFactors(1);
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

SmallVector<Value> RopeOp::differentiate(OpBuilder &builder,
                                         ValueRange gradients) {
  // The transpose of a rotation turns the other way.
  SmallVector<double> frequencies;
  for (double frequency : getFrequencies())
    frequencies.push_back(-frequency);
  return {RopeOp::create(builder, getLoc(), getInput().getType(), gradients[0],
                         getPositions(), getStyle(), frequencies, getScale()),
          Value()};
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

namespace {

/// Constraints that attention and its gradients share: the shapes of queries,
/// keys, values and what says who sees whom; the type of the log of sums.
template <typename Op> LogicalResult verifyShapes(Op op) {
  std::vector<int64_t> q = shapeOf(op.getQuery()), v = shapeOf(op.getValue());
  if (q.size() != 5)
    return op.emitOpError()
           << "query has " << q.size() << " dimensions, expected 5";
  if (v.size() != 4)
    return op.emitOpError()
           << "value has " << v.size() << " dimensions, expected 4";
  int64_t batch = q[0], keys = v[1], kv = q[2], group = q[3];
  if (failed(expectShape(op, "key", op.getKey(), {batch, keys, kv, q[4]})) ||
      failed(
          expectShape(op, "value", op.getValue(), {batch, keys, kv, v[3]})) ||
      failed(expectShape(op, "positions", op.getPositions(), {batch})))
    return failure();
  if (Value mask = op.getMask())
    if (failed(expectShape(op, "mask", mask, {batch, keys})))
      return failure();
  if (Value slopes = op.getSlopes())
    if (failed(expectShape(op, "slopes", slopes, {kv, group})))
      return failure();
  if (static_cast<int64_t>(op.getWindow()) < 0)
    return op.emitOpError()
           << "window is " << static_cast<int64_t>(op.getWindow())
           << ", expected at least 0";
  return success();
}

/// What attention gives for queries of `q`: [batch, sequence, kv, group] and
/// the values' lanes.
template <typename Op> std::vector<int64_t> outputShape(Op op) {
  std::vector<int64_t> shape = shapeOf(op.getQuery());
  shape.back() = shapeOf(op.getValue()).back();
  return shape;
}

template <typename Op>
LogicalResult expectLse(Op op, StringRef what, Value lse) {
  std::vector<int64_t> shape = shapeOf(op.getQuery());
  shape.pop_back();
  return failure(
      failed(expectShape(op, what, lse, shape)) ||
      failed(expectElementType(op, what, lse,
                               statisticsType(elementTypeOf(op.getQuery())))));
}

/// The numbers that attention's kernels share.
template <typename Op> std::vector<int64_t> kernelNumbers(Op op) {
  int64_t flags = (op.getMask() ? 1 : 0) | (op.getSlopes() ? 2 : 0);
  return {numberBits(op.getScale().convertToDouble()), op.getCausal(),
          static_cast<int64_t>(op.getWindow()),
          numberBits(op.getSoftcap().convertToDouble()), flags};
}

/// The letters of the mask and the slopes, where there are any.
template <typename Op> std::string optionalLetters(Op op) {
  return std::string(op.getMask() ? ",bt" : "") + (op.getSlopes() ? ",kg" : "");
}

/// Pairs of a query and a key, all heads taken together.
template <typename Op> uint64_t pairsOf(Op op) {
  ArrayRef<int64_t> q = op.getQuery().getType().getShape();
  uint64_t keys = op.getValue().getType().getShape()[1];
  return uint64_t(q[0]) * q[1] * q[2] * q[3] * keys;
}

} // namespace

LogicalResult AttentionOp::verify() {
  return failure(
      failed(verifyShapes(*this)) ||
      failed(expectShape(*this, "result", getResult(), outputShape(*this))) ||
      failed(expectLse(*this, "second result", getLse())));
}

ShardingRule AttentionOp::getShardingRule() {
  // What a rank held of the values' lanes would say nothing of lse.
  return RuleBuilder("bskgd,btkd,btke,b" + optionalLetters(*this) +
                     "->bskge,bskg")
      .kind('t', FactorKind::MustReplicate)
      .kind('d', FactorKind::MustReplicate)
      .kind('e', FactorKind::MustReplicate)
      .build(shapesOf(getOperands()), shapesOf(getResults()));
}

KernelSpec AttentionOp::getKernelSpec() {
  return {"attention", kernelNumbers(*this), -1, false, 1};
}

uint64_t AttentionOp::getFlops() {
  return 2 * pairsOf(*this) *
         (getQuery().getType().getShape().back() +
          getValue().getType().getShape().back());
}

namespace {

/// The keys that one query head sees at one position, and their scores.
class AttentionScores {
public:
  struct Score {
    int64_t key;
    double value;
    double slope; ///< Of the value by the scaled product.
  };

  template <typename Op>
  AttentionScores(Op op, Operands operands)
      : query(*operands[0]), key(*operands[1]), positions(*operands[3]),
        mask(op.getMask() ? operands[operands.size() - (op.getSlopes() ? 2 : 1)]
                          : nullptr),
        slopes(op.getSlopes() ? operands.back() : nullptr),
        scale(op.getScale().convertToDouble()),
        softcap(op.getSoftcap().convertToDouble()), causal(op.getCausal()),
        window(op.getWindow()) {}

  /// `row` is [batch, sequence, kv, group].
  std::vector<Score> of(const std::vector<int64_t> &row) const {
    std::vector<Score> scores;
    double position = positions.at({row[0]}) + query.dim(1).begin + row[1];
    for (int64_t k = 0; k < key.dim(1).valid; ++k)
      if (sees(row[0], position, k))
        scores.push_back(scoreOf(row, position, k));
    return scores;
  }

private:
  bool sees(int64_t batch, double position, int64_t k) const {
    double at = static_cast<double>(key.dim(1).begin + k);
    return !(causal && at > position) &&
           !(window > 0 && at <= position - window) &&
           !(mask && mask->at({batch, k}) == 0);
  }

  Score scoreOf(const std::vector<int64_t> &row, double position,
                int64_t k) const {
    Score score{k, 0, 1};
    for (int64_t d = 0; d < query.dim(4).valid; ++d)
      score.value += query.at({row[0], row[1], row[2], row[3], d}) *
                     key.at({row[0], k, row[2], d});
    score.value *= scale;
    if (softcap != 0) {
      double bent = std::tanh(score.value / softcap);
      score.value = softcap * bent;
      score.slope = 1 - bent * bent;
    }
    if (slopes)
      score.value += slopes->at({row[2], row[3]}) *
                     (static_cast<double>(key.dim(1).begin + k) - position);
    return score;
  }

  const Tensor &query, &key, &positions;
  const Tensor *mask, *slopes;
  double scale, softcap;
  bool causal;
  int64_t window;
};

} // namespace

LogicalResult AttentionOp::evaluate(Operands operands, Results results) {
  AttentionScores attention(*this, operands);
  const Tensor &value = *operands[2];
  results[1].forEachValid([&](const std::vector<int64_t> &row) {
    auto scores = attention.of(row);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (const auto &score : scores)
      largest = std::max(largest, score.value);
    for (const auto &score : scores)
      sum += std::exp(score.value - largest);
    results[1].at(row) = scores.empty() ? largest : largest + std::log(sum);
    for (int64_t e = 0; e < value.dim(3).valid; ++e) {
      double output = 0;
      for (const auto &score : scores)
        output += std::exp(score.value - largest) / sum *
                  value.at({row[0], score.key, row[2], e});
      results[0].at({row[0], row[1], row[2], row[3], e}) = output;
    }
  });
  return success();
}

namespace {

/// The gradients of `op` if it had given `output` of `value`.
AttentionGradOp gradientsOf(AttentionOp op, OpBuilder &builder, Value value,
                            Value output, Value gradient) {
  return AttentionGradOp::create(
      builder, op.getLoc(), op.getQuery().getType(), op.getKey().getType(),
      value.getType(), op.getQuery(), op.getKey(), value, op.getPositions(),
      output, op.getLse(), gradient, op.getMask(), op.getSlopes(),
      op.getScale(), op.getCausal(), op.getWindow(), op.getSoftcap());
}

/// What a gradient of lse adds to those of the queries and keys. A score's
/// gradient is p (dy . v - sum(y dy)): for values of 0 and y dy that sum to
/// -dlse it is p dlse, which is that of lse.
AttentionGradOp gradientsOfLse(AttentionOp op, OpBuilder &builder,
                               Value gradient) {
  RowForm form(builder, op.getLoc(), op.getResult());
  double lanes = op.getValue().getType().getShape().back();
  Type type = op.getResult().getType();
  Value minus = form.neg(form.overLanes(gradient));
  return gradientsOf(op, builder, form.splat(0, op.getValue().getType()),
                     form.rounded(minus), form.splat(1 / lanes, type));
}

} // namespace

SmallVector<Value> AttentionOp::differentiate(OpBuilder &builder,
                                              ValueRange gradients) {
  SmallVector<Value> results(getNumOperands());
  if (gradients[0]) {
    auto grad =
        gradientsOf(*this, builder, getValue(), getResult(), gradients[0]);
    llvm::copy(grad.getResults(), results.begin());
  }
  if (gradients[1]) {
    auto grad = gradientsOfLse(*this, builder, gradients[1]);
    for (unsigned i = 0; i < 2; ++i)
      results[i] =
          results[i] ? SumOp::create(builder, getLoc(),
                                     ValueRange{results[i], grad.getResult(i)})
                     : grad.getResult(i);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// attention_grad
//===----------------------------------------------------------------------===//

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyShapes(*this)) || failed(expectLse(*this, "lse", getLse())))
    return failure();
  std::pair<StringRef, Value> outputs[] = {{"output", getOutput()},
                                           {"gradient", getGradient()}};
  for (auto &[what, value] : outputs)
    if (failed(expectShape(*this, what, value, outputShape(*this))) ||
        failed(
            expectElementType(*this, what, value, elementTypeOf(getQuery()))))
      return failure();
  return failure(
      failed(expectLike(*this, "result 0", getQueryGradient(), getQuery())) ||
      failed(expectLike(*this, "result 1", getKeyGradient(), getKey())) ||
      failed(expectLike(*this, "result 2", getValueGradient(), getValue())));
}

ShardingRule AttentionGradOp::getShardingRule() {
  return RuleBuilder("bskgd,btkd,btke,b,bskge,bskg,bskge" +
                     optionalLetters(*this) + "->bskgd,btkd,btke")
      .kind('t', FactorKind::MustReplicate)
      .kind('d', FactorKind::MustReplicate)
      .kind('e', FactorKind::MustReplicate)
      .linear(6)
      .build(shapesOf(getOperands()), shapesOf(getResults()));
}

KernelSpec AttentionGradOp::getKernelSpec() {
  return {"attention_grad", kernelNumbers(*this), -1, false};
}

uint64_t AttentionGradOp::getFlops() {
  // Scores, dq and dk are products over or into the queries' lanes, the
  // gradients of probabilities and dv over or into the values'.
  return 2 * pairsOf(*this) *
         (3 * getQuery().getType().getShape().back() +
          2 * getValue().getType().getShape().back());
}

namespace {

/// Adds up what one query head at one position gives to the gradients.
class AttentionGradient {
public:
  AttentionGradient(AttentionGradOp op, Operands operands, Results results)
      : scores(op, operands), scale(op.getScale().convertToDouble()),
        query(*operands[0]), key(*operands[1]), value(*operands[2]),
        output(*operands[4]), lse(*operands[5]), gradient(*operands[6]),
        dq(results[0]), dk(results[1]), dv(results[2]) {}

  /// `row` is [batch, sequence, kv, group].
  void add(const std::vector<int64_t> &row) {
    double mean = overLanes(row, [&](const std::vector<int64_t> &index) {
      return output.at(index);
    });
    for (const auto &score : scores.of(row)) {
      double p = std::exp(score.value - lse.at(row));
      double dp = overLanes(row, [&](const std::vector<int64_t> &index) {
        return value.at({row[0], score.key, row[2], index[4]});
      });
      addProduct(row, score.key, scale * score.slope * p * (dp - mean));
      addValue(row, score.key, p);
    }
  }

private:
  /// The sum over the values' lanes of dy times `f`.
  double overLanes(std::vector<int64_t> index,
                   function_ref<double(const std::vector<int64_t> &)> f) {
    double sum = 0;
    index.push_back(0);
    for (int64_t &e = index[4]; e < gradient.dim(4).valid; ++e)
      sum += gradient.at(index) * f(index);
    return sum;
  }

  /// `ds` is the gradient of the product of a query and a key.
  void addProduct(const std::vector<int64_t> &row, int64_t k, double ds) {
    for (int64_t d = 0; d < query.dim(4).valid; ++d) {
      std::vector<int64_t> q = row, at = {row[0], k, row[2], d};
      q.push_back(d);
      dq.at(q) += ds * key.at(at);
      dk.at(at) += ds * query.at(q);
    }
  }

  void addValue(const std::vector<int64_t> &row, int64_t k, double p) {
    for (int64_t e = 0; e < value.dim(3).valid; ++e)
      dv.at({row[0], k, row[2], e}) +=
          p * gradient.at({row[0], row[1], row[2], row[3], e});
  }

  AttentionScores scores;
  double scale;
  const Tensor &query, &key, &value, &output, &lse, &gradient;
  Tensor &dq, &dk, &dv;
};

} // namespace

LogicalResult AttentionGradOp::evaluate(Operands operands, Results results) {
  for (Tensor &result : results)
    result.forEachValid(
        [&](const std::vector<int64_t> &index) { result.at(index) = 0; });
  AttentionGradient gradient(*this, operands, results);
  operands[5]->forEachValid(
      [&](const std::vector<int64_t> &row) { gradient.add(row); });
  return success();
}

} // namespace tandem

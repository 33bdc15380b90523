#include "ir/Dialect.h"
#include "ir/Identity.h"
#include "ir/ops/Shapes.h"

using namespace mlir;

namespace tandem {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

//===----------------------------------------------------------------------===//
// microbatch
//===----------------------------------------------------------------------===//

LogicalResult MicrobatchOp::verify() {
  std::vector<int64_t> shape = shapeOf(getInput());
  if (shape.empty())
    return emitOpError(
        "operand has no dimensions, expected microbatches first");
  if (failed(expectElementType(
          *this, "result", getResult(),
          cast<RankedTensorType>(getInput().getType()).getElementType())))
    return failure();
  return expectShape(*this, "result", getResult(),
                     ArrayRef<int64_t>(shape).drop_front());
}

ShardingRule MicrobatchOp::getShardingRule() {
  std::vector<int64_t> shape = shapeOf(getInput());
  ShardingRule rule;
  for (int64_t size : shape)
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  rule.factors[0].kind = FactorKind::MustReplicate;
  rule.operands.push_back(consecutiveFactors(shape.size()));
  rule.operands[0].linear = true;
  rule.results.push_back(consecutiveFactors(shape.size() - 1, 1));
  return rule;
}

/// A view of the batch's memory, not a launch.
KernelSpec MicrobatchOp::getKernelSpec() { return {}; }

void MicrobatchOp::evaluateAt(int64_t index, const Tensor &input,
                              Tensor &result) {
  result.forEachValid([&](const std::vector<int64_t> &lane) {
    std::vector<int64_t> from = lane;
    from.insert(from.begin(), index);
    result.at(lane) = input.at(from);
  });
}

LogicalResult MicrobatchOp::evaluate(Operands operands, Results results) {
  evaluateAt(0, *operands[0], results[0]);
  return success();
}

/// Batches are ids and masks; nobody asks for their gradients.
SmallVector<Value> MicrobatchOp::differentiate(OpBuilder &, ValueRange) {
  return {Value()};
}

//===----------------------------------------------------------------------===//
// accumulate
//===----------------------------------------------------------------------===//

LogicalResult AccumulateOp::verify() {
  return expectShape(*this, "result", getResult(), shapeOf(getInput()));
}

ShardingRule AccumulateOp::getShardingRule() {
  return identityRule(shapeOf(getInput()));
}

/// Lowered to a fill and an addition in place.
KernelSpec AccumulateOp::getKernelSpec() { return {}; }

LogicalResult AccumulateOp::evaluate(Operands operands, Results results) {
  results[0] = *operands[0];
  return success();
}

/// Each microbatch's term has the sum's gradient.
SmallVector<Value> AccumulateOp::differentiate(OpBuilder &builder,
                                               ValueRange gradients) {
  Value gradient = gradients[0];
  if (gradient.getType() != getInput().getType())
    gradient =
        CastOp::create(builder, getLoc(), getInput().getType(), gradient);
  return {gradient};
}

} // namespace tandem

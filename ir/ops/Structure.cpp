#include "ir/Collectives.h"
#include "ir/Dialect.h"
#include "ir/ops/Shapes.h"

using namespace mlir;

namespace tandem {
namespace {

LogicalResult expectLocal(Operation *op, const char *what, Value value) {
  if (localOf(value.getType()))
    return success();
  return op->emitOpError() << what << " has type " << value.getType()
                           << ", expected a #tandem.local encoding";
}

/// Two values with one global shape and element type, both local.
LogicalResult verifyEnds(Operation *op, Value input, Value result) {
  if (failed(expectLocal(op, "operand", input)) ||
      failed(expectLocal(op, "result", result)) ||
      failed(expectShape(op, "result", result, shapeOf(input))) ||
      failed(expectElementType(
          op, "result", result,
          cast<RankedTensorType>(input.getType()).getElementType())))
    return failure();
  return verifyLocalTypes(op);
}

Sharding shardingOf(Value value, const Mesh &mesh) {
  return localOf(value.getType()).getSharding().getValue(mesh);
}

/// What is still unreduced keeps its kind; what is reduced has none.
LogicalResult verifyReductionKind(Operation *op, Value input, Value result) {
  LocalAttr before = localOf(input.getType()),
            after = localOf(result.getType());
  if (after.getSharding().getUnreduced().empty() ||
      after.getReduction() == before.getReduction())
    return success();
  return op->emitOpError("result's unreduced terms combine otherwise than the "
                         "operand's");
}

/// `op` turns its operand's layout into its result's as `collective` says.
LogicalResult verifyCollective(Operation *op, Collective collective,
                               AxesAttr axes) {
  Value input = op->getOperand(0), result = op->getResult(0);
  if (failed(verifyEnds(op, input, result)))
    return failure();
  Mesh mesh = meshOf(op);
  collective.axes = axes.getValue(mesh);
  Result<Sharding> expected =
      resultSharding(collective, shardingOf(input, mesh), mesh);
  if (!expected.ok())
    return op->emitOpError(expected.status().message());
  Sharding got = shardingOf(result, mesh);
  if (!got.sameLayout(*expected))
    return op->emitOpError() << "result has sharding " << toString(got, mesh)
                             << ", expected " << toString(*expected, mesh);
  return verifyReductionKind(op, input, result);
}

Collective collectiveOf(CollectiveKind kind, int64_t dim = 0,
                        int64_t fromDim = 0) {
  return {kind, {}, dim, fromDim};
}

} // namespace

LogicalResult ReshardOp::evaluate(ArrayRef<const Tensor *> operands,
                                  MutableArrayRef<Tensor> results) {
  results[0] = *operands[0];
  return success();
}

LogicalResult AllReduceOp::verify() {
  return verifyCollective(*this, collectiveOf(CollectiveKind::AllReduce),
                          getAxes());
}

LogicalResult AllGatherOp::verify() {
  return verifyCollective(
      *this, collectiveOf(CollectiveKind::AllGather, getDim()), getAxes());
}

LogicalResult ReduceScatterOp::verify() {
  return verifyCollective(
      *this, collectiveOf(CollectiveKind::ReduceScatter, getDim()), getAxes());
}

LogicalResult AllToAllOp::verify() {
  return verifyCollective(
      *this, collectiveOf(CollectiveKind::AllToAll, getDim(), getFromDim()),
      getAxes());
}

LogicalResult AllSliceOp::verify() {
  return verifyCollective(
      *this, collectiveOf(CollectiveKind::AllSlice, getDim()), getAxes());
}

LogicalResult PermuteOp::verify() {
  if (failed(verifyEnds(*this, getInput(), getResult())))
    return failure();
  Mesh mesh = meshOf(*this);
  Status status =
      checkPermute(shardingOf(getInput(), mesh), shardingOf(getResult(), mesh),
                   shapeOf(getInput()), mesh);
  if (!status.ok())
    return emitOpError(status.message());
  return verifyReductionKind(*this, getInput(), getResult());
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifyCollective(*this, collectiveOf(CollectiveKind::Broadcast),
                              getAxes())))
    return failure();
  return expectInRange(*this, "root", getRoot(),
                       sizeOf(getAxes().getValue(meshOf(*this))));
}

} // namespace tandem

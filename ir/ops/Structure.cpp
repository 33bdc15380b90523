#include "ir/Dialect.h"
#include "ir/ops/Shapes.h"
#include "runtime/mesh/Collectives.h"

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
  return failure(
      failed(expectLocal(op, "operand", input)) ||
      failed(expectLocal(op, "result", result)) ||
      failed(expectShape(op, "result", result, shapeOf(input))) ||
      failed(expectElementType(
          op, "result", result,
          cast<RankedTensorType>(input.getType()).getElementType())));
}

/// `op` turns its operand's layout into its result's as `collective` says.
LogicalResult verifyCollective(Operation *op, Collective collective,
                               AxesAttr axes) {
  Value input = op->getOperand(0), result = op->getResult(0);
  if (failed(verifyEnds(op, input, result)))
    return failure();
  Mesh mesh = meshOf(op);
  collective.axes = axes.getValue(mesh);
  TensorType from = tensorTypeOf(input.getType(), mesh);
  collective.reduction = from.reduction;
  Status status = checkCollective(collective, from,
                                  tensorTypeOf(result.getType(), mesh), mesh);
  return status.ok() ? success() : op->emitOpError(status.message());
}

Collective collectiveOf(CollectiveKind kind, int64_t dim = 0,
                        int64_t fromDim = 0) {
  return {kind, {}, static_cast<size_t>(dim), static_cast<size_t>(fromDim)};
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
  return verifyCollective(*this, collectiveOf(CollectiveKind::Permute),
                          getAxes());
}

LogicalResult BroadcastOp::verify() {
  if (failed(verifyCollective(*this, collectiveOf(CollectiveKind::Broadcast),
                              getAxes())))
    return failure();
  return expectInRange(*this, "root", getRoot(),
                       sizeOf(getAxes().getValue(meshOf(*this))));
}

} // namespace tandem

#include "ir/Microbatches.h"

using namespace mlir;

namespace tandem {

StepParts::StepParts(func::FuncOp function) : function(function) {
  if (function.isExternal())
    return;
  bool cut = false;
  for (Operation &op : function.getBody().front()) {
    StepPart part = StepPart::Prologue;
    for (Value operand : op.getOperands())
      part = std::max(part, partOf(operand));
    if (auto microbatch = dyn_cast<MicrobatchOp>(op)) {
      part = std::max(part, StepPart::Body);
      cut = true;
      microbatches_ = globalShape(microbatch.getInput().getType())[0];
    }
    // A value that is equal for all microbatches is summed in the body too,
    // and what is not to be kept is made in it.
    if (isa<AccumulateOp>(op) ||
        (cut && op.hasAttr(TandemDialect::kRecomputed)))
      part = std::max(part, StepPart::Body);
    parts[&op] = part;
  }
}

/// The part in which `value` is there: a sum, behind the body.
StepPart StepParts::partOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return StepPart::Prologue;
  return isa<AccumulateOp>(op) ? StepPart::Epilogue : of(op);
}

StepPart StepParts::of(Operation *op) const {
  auto it = parts.find(op);
  return it == parts.end() ? StepPart::Prologue : it->second;
}

LogicalResult StepParts::verify() {
  if (function.isExternal())
    return success();
  for (Operation &op : function.getBody().front()) {
    auto microbatch = dyn_cast<MicrobatchOp>(op);
    if (!microbatch && !isa<AccumulateOp>(op))
      continue;
    if (of(&op) == StepPart::Epilogue)
      return op.emitOpError("reads a sum over all microbatches, expected a "
                            "value that is there before the last one ends");
    if (!microbatch)
      continue;
    int64_t own = globalShape(microbatch.getInput().getType())[0];
    if (own != microbatches_)
      return op.emitOpError()
             << "has " << own << " microbatches, another has " << microbatches_;
  }
  return success();
}

} // namespace tandem

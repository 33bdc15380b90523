//===- Microbatches.h - What of a step runs how often -----------*- C++ -*-===//
//
// What it is: the parts of a training step, as they follow from dataflow. A
// step is one flat function; `microbatch` takes a slice of the batch and
// `accumulate` sums a value over all slices:
//
//   %mask  = tandem.compare ne, %labels, ...      prologue  once
//   %ids   = tandem.microbatch %input_ids         body      M times
//   %part  = ... forward and backward of %ids     body
//   %grad  = tandem.accumulate %part              body, its sum ready behind
//   %new   = tandem.adamw %weight, ..., %grad     epilogue  once
//
//   body       depends on a microbatch, other than through an accumulate, or
//              is marked `tandem.recomputed` (a parameter gathered once more)
//   epilogue   depends on an accumulate
//   prologue   the rest: casts of parameters, counts of labels
//
// No region holds the body: passes that spread shardings, cut stages or place
// buffers see one list of operations, and an operation that does not depend on
// the microbatch is in no loop to begin with. A function without `microbatch`
// is prologue alone.
//
// Invariant: nothing in the body reads a value of the epilogue.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_MICROBATCHES_H
#define TANDEM_IR_MICROBATCHES_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tandem {

enum class StepPart { Prologue, Body, Epilogue };

class StepParts {
public:
  explicit StepParts(mlir::func::FuncOp function);

  StepPart of(mlir::Operation *op) const;
  /// How many microbatches a step has: 1 where nothing is cut.
  int64_t microbatches() const { return microbatches_; }
  /// How often `op` runs in a step.
  int64_t timesOf(mlir::Operation *op) const {
    return of(op) == StepPart::Body ? microbatches_ : 1;
  }
  /// The invariant above, and equal numbers of microbatches; emits an error.
  mlir::LogicalResult verify();

private:
  StepPart partOf(mlir::Value value) const;

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Operation *, StepPart> parts;
  int64_t microbatches_ = 1;
};

} // namespace tandem

#endif // TANDEM_IR_MICROBATCHES_H

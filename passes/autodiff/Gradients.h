//===- Gradients.h - What a loss changes by, value by value -----*- C++ -*-===//
//
// What it is: the book of reverse mode over one function. Users of a value
// add contributions to its gradient; whoever needs the gradient asks for the
// sum, once, behind all of them:
//
//   Gradients gradients(function, parts, builder);
//   gradients.add(lossValue, one, nullptr);
//   for (op : operations from the last to the first)
//     for each result:   g = gradients.of(result)
//     for each operand:  gradients.add(operand, its part of g, op)
//
// A value that is there before the microbatches may be used in the body of the
// step, M times, and outside of it, once. Of the first the gradients of one
// microbatch are added in the body, a layer's to a sum of its own, which
// passes an `accumulate`; so no layer, and no stage, waits for another's in
// the body. All other contributions are added as they are.
//
// A parameter's gradient of one microbatch is named `grad.KEY`, so that an
// annotation can say how it is to be kept (ZeRO).
//
// Invariant: one n-ary sum a place, its terms in the order of layers and then
// in that in which they were added.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_AUTODIFF_GRADIENTS_H
#define TANDEM_PASSES_AUTODIFF_GRADIENTS_H

#include "ir/Microbatches.h"

namespace tandem {

/// The type in which gradients of `type` are accumulated: f64 for f64, else
/// f32.
mlir::RankedTensorType accumulatorType(mlir::Type type);

/// A builder of gradients at the end of a function: what it creates carries
/// `tandem.backward` and the place of the operation that it works for.
class BackwardBuilder : public mlir::OpBuilder,
                        private mlir::OpBuilder::Listener {
public:
  explicit BackwardBuilder(mlir::func::FuncOp function);

  /// What is created from here on belongs to `op`.
  void workFor(mlir::Operation *op) { forward = op; }

private:
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint from) override;

  mlir::Operation *forward = nullptr;
};

class Gradients {
public:
  Gradients(const StepParts &parts, BackwardBuilder &builder)
      : parts(parts), builder(builder) {}

  /// `user`, null where there is none, gives `value` a part of its gradient.
  void add(mlir::Value value, mlir::Value part, mlir::Operation *user);
  /// The sum of all parts, null where there is none; of a type at least as
  /// wide as the value's.
  mlir::Value of(mlir::Value value);

private:
  struct Part {
    mlir::Value gradient;
    mlir::Operation *user;
  };

  mlir::Value sum(llvm::ArrayRef<Part> parts);
  Part accumulated(mlir::Value value, llvm::ArrayRef<Part> parts);

  const StepParts &parts;
  BackwardBuilder &builder;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Part>> contributions;
};

} // namespace tandem

#endif // TANDEM_PASSES_AUTODIFF_GRADIENTS_H

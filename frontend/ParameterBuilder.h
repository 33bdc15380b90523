//===- ParameterBuilder.h - Parameters, views of stored tensors -*- C++ -*-===//
//
// Gives the weight or bias of a role as a parameter of the function that is
// being written: a view of the stored tensor in which outputs come before
// inputs and heads are dimensions of their own, whatever the file does.
//
//   query weight [kv, group, head_dim, hidden], key [kv, head_dim, hidden],
//   output weight [hidden, kv, group, head_dim], others [outputs, inputs]
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_PARAMETERBUILDER_H
#define TANDEM_FRONTEND_PARAMETERBUILDER_H

#include "frontend/FunctionBuilder.h"
#include "frontend/ModelTensors.h"

namespace tandem {

class ParameterBuilder {
public:
  /// All must outlive it. `files` is read only for the types of tensors.
  ParameterBuilder(FunctionBuilder &f, const ModelConfig &config,
                   const ModelTensors &tensors, const ModelFiles &files,
                   DType dtype);

  /// Of weights in products.
  mlir::Type element() const { return element_; }
  /// From now on parameters are float32 and cast where they are used: weights
  /// that an optimizer changes.
  void keepMasters() { mastersKept_ = true; }
  mlir::Value weight(Role role, int64_t layer);
  /// The role's bias in `like`'s shape.
  mlir::Value bias(Role role, int64_t layer, mlir::Value like);
  /// The bias as it is, null where the role has none.
  mlir::Value plainBias(Role role, int64_t layer);

private:
  int64_t splitHeads(Dim dim, int64_t at, const Place &place,
                     llvm::SmallVectorImpl<ViewStepAttr> &steps);
  ViewAttr view(Role role, const Place &place);
  mlir::Value parameter(Role role, const Place &place, Normal initial);

  FunctionBuilder &f_;
  const ModelConfig &config_;
  const ModelTensors &tensors_;
  const ModelFiles &files_;
  DType dtype_;
  mlir::Type element_;
  bool mastersKept_ = false;
};

ViewStepAttr viewStep(mlir::MLIRContext *context, llvm::StringRef name,
                      llvm::ArrayRef<int64_t> arguments);
/// The trailing `count` of `rank` dimensions.
llvm::SmallVector<int64_t> trailing(size_t rank, size_t count);

} // namespace tandem

#endif // TANDEM_FRONTEND_PARAMETERBUILDER_H

//===- ModelInputs.h - Inputs of an imported entry, in float64 --*- C++ -*-===//
//
// What the reference evaluator needs to run a model: its parameters, read from
// the files through their views, and named integer inputs.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_NUMERICS_MODELINPUTS_H
#define TANDEM_TEST_NUMERICS_MODELINPUTS_H

#include "ir/reference/Interpreter.h"
#include "runtime/files/TensorStore.h"

namespace tandem::test {

/// All elements of a stored tensor.
Result<std::vector<double>> valuesOf(const StoredTensor &tensor);

/// The stored tensor `name` as it is.
Result<Tensor> wholeTensor(const TensorStore &store, const std::string &name);

/// `stored` through `view`: element by element, by the view's strides.
Result<Tensor> viewed(const StoredTensor &stored, ViewAttr view,
                      llvm::ArrayRef<int64_t> shape);

/// Every parameter of `function`, under the evaluator's names.
Result<NamedTensors> parametersOf(mlir::func::FuncOp function,
                                  const TensorStore &store);

/// Zeros for each state of `function`, a cache or what an optimizer keeps.
NamedTensors emptyStates(mlir::func::FuncOp function);

/// A tensor of integers of shape [rows, values.size() / rows].
Tensor rowsOf(int64_t rows, const std::vector<double> &values);

/// The largest |a - b| / (1 + |b|).
double distance(const std::vector<double> &a, const std::vector<double> &b);

} // namespace tandem::test

#endif // TANDEM_TEST_NUMERICS_MODELINPUTS_H

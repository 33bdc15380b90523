#include "test/numerics/ModelInputs.h"

#include "runtime/files/ReadElements.h"

#include <cmath>

namespace tandem::test {

Result<std::vector<double>> valuesOf(const StoredTensor &tensor) {
  std::vector<double> values(tensor.elements());
  TANDEM_TRY(readElements(tensor, 0, values.size(), DType::F64, values.data()));
  return values;
}

Result<Tensor> wholeTensor(const TensorStore &store, const std::string &name) {
  const StoredTensor *tensor = store.find(name);
  if (!tensor)
    return Status::refused("no tensor '" + name + "'");
  TANDEM_ASSIGN(std::vector<double> values, valuesOf(*tensor));
  return Tensor::whole(tensor->shape, std::move(values));
}

Result<Tensor> viewed(const StoredTensor &stored, ViewAttr view,
                      llvm::ArrayRef<int64_t> shape) {
  TANDEM_ASSIGN(std::vector<double> values, valuesOf(stored));
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  view.getStrides(stored.shape, offset, strides);
  std::vector<double> result;
  forEachIndex(toVector(shape), [&](const std::vector<int64_t> &index) {
    int64_t at = offset;
    for (size_t i = 0; i < index.size(); ++i)
      at += index[i] * strides[i];
    result.push_back(values[static_cast<size_t>(at)]);
  });
  return Tensor::whole(toVector(shape), std::move(result));
}

Result<NamedTensors> parametersOf(mlir::func::FuncOp function,
                                  const TensorStore &store) {
  NamedTensors tensors;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto view =
        function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter);
    if (!view)
      continue;
    const StoredTensor *stored = store.find(view.getKey().str());
    if (!stored)
      return Status::refused("no tensor '" + view.getKey().str() + "'");
    TANDEM_ASSIGN(
        tensors[argumentName(function, i)],
        viewed(*stored, view, globalShape(function.getArgument(i).getType())));
  }
  return tensors;
}

NamedTensors emptyStates(mlir::func::FuncOp function) {
  NamedTensors states;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type =
        llvm::cast<mlir::RankedTensorType>(function.getArgument(i).getType());
    if (!function.getArgAttr(i, TandemDialect::kState))
      continue;
    std::vector<double> zeros(static_cast<size_t>(type.getNumElements()), 0);
    states[argumentName(function, i)] =
        Tensor::whole(toVector(type.getShape()), std::move(zeros));
  }
  return states;
}

Tensor rowsOf(int64_t rows, const std::vector<double> &values) {
  return Tensor::whole({rows, static_cast<int64_t>(values.size()) / rows},
                       values);
}

double distance(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size())
    return INFINITY;
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double d = std::abs(a[i] - b[i]) / (1 + std::abs(b[i]));
    most = std::isnan(d) ? INFINITY : std::max(most, d);
  }
  return most;
}

} // namespace tandem::test

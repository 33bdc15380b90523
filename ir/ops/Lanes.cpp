#include "ir/ops/Lanes.h"

using namespace mlir;

namespace tandem {

LogicalResult evaluateLanes(ArrayRef<const Tensor *> operands,
                            MutableArrayRef<Tensor> results,
                            function_ref<double(ArrayRef<double>)> lane) {
  std::vector<double> values(operands.size());
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    for (size_t i = 0; i < operands.size(); ++i)
      values[i] = operands[i]->at(index);
    results[0].at(index) = lane(values);
  });
  return success();
}

KernelSpec mapKernel(const MapProgram &program, int inPlaceOperand) {
  return {"map", program.numbers(), inPlaceOperand, false};
}

} // namespace tandem

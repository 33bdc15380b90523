//===- Lanes.h - What elementwise operations share --------------*- C++ -*-===//

#ifndef TANDEM_IR_OPS_LANES_H
#define TANDEM_IR_OPS_LANES_H

#include "ir/Dialect.h"
#include "ir/ops/MapProgram.h"

namespace tandem {

/// The row of `table` for `kind`; every kind has one.
template <typename Row, size_t n, typename Kind>
const Row &rowOf(const Row (&table)[n], Kind kind) {
  for (const Row &row : table)
    if (row.kind == kind)
      return row;
  llvm_unreachable("a kind without a row");
}

/// result[i] = lane(operands[...][i]) for every valid lane.
mlir::LogicalResult
evaluateLanes(llvm::ArrayRef<const Tensor *> operands,
              llvm::MutableArrayRef<Tensor> results,
              llvm::function_ref<double(llvm::ArrayRef<double>)> lane);

KernelSpec mapKernel(const MapProgram &program, int inPlaceOperand);

} // namespace tandem

#endif // TANDEM_IR_OPS_LANES_H

//===- Compare.h - Same numbers before and after a pass ---------*- C++ -*-===//

#ifndef TANDEM_IR_REFERENCE_COMPARE_H
#define TANDEM_IR_REFERENCE_COMPARE_H

#include "ir/reference/Interpreter.h"

namespace tandem {

/// Whether every entry of `before`, a module of phase 1, gives the same
/// results in `after`, of phases 1 to 3, within `tolerance` (1 + |x|), for
/// inputs made from `seed`. The status says what differs where, or why
/// something cannot be evaluated.
Status compareModules(mlir::ModuleOp before, mlir::ModuleOp after,
                      uint64_t seed = 1, double tolerance = 1e-9);

/// The same for given inputs of one entry.
Status compareEntry(mlir::ModuleOp before, mlir::ModuleOp after,
                    llvm::StringRef entry, const NamedTensors &inputs,
                    double tolerance = 1e-9);

} // namespace tandem

#endif // TANDEM_IR_REFERENCE_COMPARE_H

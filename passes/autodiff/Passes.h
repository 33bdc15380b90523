//===- Passes.h - From a loss to gradients ----------------------*- C++ -*-===//

#ifndef TANDEM_PASSES_AUTODIFF_PASSES_H
#define TANDEM_PASSES_AUTODIFF_PASSES_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tandem {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/autodiff/Passes.h.inc"
} // namespace tandem

#endif // TANDEM_PASSES_AUTODIFF_PASSES_H

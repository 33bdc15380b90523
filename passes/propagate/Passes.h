//===- Passes.h - Spreading shardings ---------------------------*- C++ -*-===//

#ifndef TANDEM_PASSES_PROPAGATE_PASSES_H
#define TANDEM_PASSES_PROPAGATE_PASSES_H

#include "ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tandem {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/propagate/Passes.h.inc"
} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_PASSES_H

//===- Passes.h - Other dialects' words as ours -----------------*- C++ -*-===//

#ifndef TANDEM_PASSES_IMPORT_PASSES_H
#define TANDEM_PASSES_IMPORT_PASSES_H

#include "ir/Dialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tandem {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/import/Passes.h.inc"
} // namespace tandem

#endif // TANDEM_PASSES_IMPORT_PASSES_H

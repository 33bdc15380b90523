//===- EmitPlan.h - Writing a phase-4 module as a plan ----------*- C++ -*-===//
//
// Emission prints what the module says and decides nothing but where
// parameters and states lie in the persistent part of the arena: one behind
// the other in order of first use, at multiples of 64.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_EMIT_EMITPLAN_H
#define TANDEM_PASSES_EMIT_EMITPLAN_H

#include "runtime/plan/PlanBuilder.h"

#include "mlir/IR/BuiltinOps.h"

namespace tandem {

/// The plan of a module whose buffers are placed. `model` is recorded as
/// where it came from.
Result<fb::PlanT> emitPlan(mlir::ModuleOp module, const std::string &model);

/// A location as people know it: the name of the part of the model, else
/// FILE:LINE:COLUMN, else nothing.
std::string locationText(mlir::Location location);

} // namespace tandem

#endif // TANDEM_PASSES_EMIT_EMITPLAN_H

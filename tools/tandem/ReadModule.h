//===- ReadModule.h - A module from its text --------------------*- C++ -*-===//

#ifndef TANDEM_TOOLS_TANDEM_READMODULE_H
#define TANDEM_TOOLS_TANDEM_READMODULE_H

#include "tools/tandem/DiagnosticText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tandem {

/// Reads a module, or what would stand in one. Shardy's annotations become
/// ours; operations of dialects that are not known stay. Arguments of public
/// functions that nothing else names are inputs, called as the text calls
/// them; results are outputs `result0`, `result1`, ...
Result<mlir::OwningOpRef<mlir::ModuleOp>>
readModule(const std::string &path, mlir::MLIRContext &context,
           const DiagnosticText &diagnostics);

} // namespace tandem

#endif // TANDEM_TOOLS_TANDEM_READMODULE_H

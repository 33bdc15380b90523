//===- DiagnosticText.h - MLIR's diagnostics as a Status --------*- C++ -*-===//

#ifndef TANDEM_TOOLS_TANDEM_DIAGNOSTICTEXT_H
#define TANDEM_TOOLS_TANDEM_DIAGNOSTICTEXT_H

#include "runtime/base/Status.h"

#include "mlir/IR/Diagnostics.h"

namespace tandem {

/// While it lives, errors of a context are kept as one message; warnings go to
/// the log, remarks too where it is asked for debugging.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context);
  DiagnosticText(const DiagnosticText &) = delete;

  /// The errors so far, or `what` where there were none.
  Status failure(const std::string &what) const {
    return Status::refused(text.empty() ? what : text);
  }

private:
  void take(mlir::Diagnostic &diagnostic);

  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tandem

#endif // TANDEM_TOOLS_TANDEM_DIAGNOSTICTEXT_H

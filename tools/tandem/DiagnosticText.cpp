#include "tools/tandem/DiagnosticText.h"

#include "passes/emit/EmitPlan.h"
#include "runtime/base/Log.h"

namespace tandem {

DiagnosticText::DiagnosticText(mlir::MLIRContext &context)
    : handler(&context, [this](mlir::Diagnostic &diagnostic) {
        take(diagnostic);
        return mlir::success();
      }) {}

void DiagnosticText::take(mlir::Diagnostic &diagnostic) {
  std::string message = locationText(diagnostic.getLocation());
  message += (message.empty() ? "" : ": ") + diagnostic.str();
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    message +=
        "\n  note: " + locationText(note.getLocation()) + ": " + note.str();
  switch (diagnostic.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    text += (text.empty() ? "" : "\n") + message;
    return;
  case mlir::DiagnosticSeverity::Warning:
    logWarning(message);
    return;
  case mlir::DiagnosticSeverity::Note:
  case mlir::DiagnosticSeverity::Remark:
    log(LogLevel::Debug, message);
    return;
  }
}

} // namespace tandem

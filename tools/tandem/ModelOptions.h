//===- ModelOptions.h - Which model, and how it is read ---------*- C++ -*-===//

#ifndef TANDEM_TOOLS_TANDEM_MODELOPTIONS_H
#define TANDEM_TOOLS_TANDEM_MODELOPTIONS_H

#include "tools/commands/Command.h"
#include "tools/tandem/DiagnosticText.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tandem {

/// What commands that read models have in common.
struct ModelOptions {
  std::string path;                  ///< A model, or a module's .mlir file.
  std::string weights;               ///< Where the weights are, when elsewhere.
  std::vector<std::string> settings; ///< config.key=value
  std::string entry;                 ///< Empty: `defaultEntry`.
  std::string defaultEntry = "generate";
  std::string dtype; ///< Empty: the source's.
  int64_t batch = 1;
  int64_t maxSeq = 0;         ///< 0: the model's, at most 2048.
  bool attentionMask = false; ///< `logits` and `next` take one.
  bool strict = false;
  int64_t microbatches = 1; ///< Of a training step.
  std::string optimizer = "adamw";
  bool evaluation = false; ///< Whether `train` has an entry `loss` beside it.
};

/// The flags of `options`, which outlives the command.
void addModelOptions(CLI::App *command, ModelOptions &options);

/// Those of them that say what the entry computes, without the model's and
/// the weights' places.
void addShapeOptions(CLI::App *command, ModelOptions &options);

/// Imports the model, logging its warnings, or reads the module.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(const ModelOptions &options, mlir::MLIRContext &context,
          const DiagnosticText &diagnostics);

} // namespace tandem

#endif // TANDEM_TOOLS_TANDEM_MODELOPTIONS_H

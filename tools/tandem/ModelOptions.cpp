#include "tools/tandem/ModelOptions.h"

#include "frontend/ImportModel.h"
#include "runtime/base/Log.h"
#include "tools/tandem/ReadModule.h"

namespace tandem {
namespace {

bool isModule(const std::string &path) {
  return llvm::StringRef(path).ends_with(".mlir");
}

/// A module is what it is: flags that shape a model would do nothing.
Status checkModuleOptions(const ModelOptions &options) {
  const std::pair<const char *, bool> given[] = {
      {"--entry", !options.entry.empty()},
      {"--batch", options.batch != 1},
      {"--max-seq", options.maxSeq != 0},
      {"--microbatches", options.microbatches != 1},
      {"--evaluation", options.evaluation},
      {"--optimizer", options.optimizer != ModelOptions().optimizer},
      {"--dtype", !options.dtype.empty()},
      {"--set", !options.settings.empty()},
      {"--weights", !options.weights.empty()},
      {"--attention-mask", options.attentionMask},
      {"--strict", options.strict},
  };
  for (const auto &[flag, isGiven] : given)
    if (isGiven)
      return Status::usage(std::string(flag) + " is for models; the module '" +
                           options.path + "' holds its own functions");
  return Status();
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> import(const ModelOptions &options,
                                                 mlir::MLIRContext &context) {
  ImportOptions import;
  TANDEM_ASSIGN(
      import.entry.entry,
      parseEntry(options.entry.empty() ? options.defaultEntry : options.entry));
  import.entry.batch = options.batch;
  import.entry.maxSeq = options.maxSeq;
  import.entry.attentionMask = options.attentionMask;
  import.entry.microbatches = options.microbatches;
  import.entry.optimizer = options.optimizer;
  import.entry.evaluation = options.evaluation;
  if (!options.dtype.empty()) {
    import.entry.dtype = *parseDType(options.dtype);
    import.hasDType = true;
  }
  import.settings = options.settings;
  import.strict = options.strict;
  import.weightsPath = options.weights;
  TANDEM_ASSIGN(ImportedModel model,
                importModel(options.path, import, context));
  for (const std::string &warning : model.warnings)
    logWarning(warning);
  return std::move(model.module);
}

} // namespace

void addModelOptions(CLI::App *command, ModelOptions &options) {
  command
      ->add_option("MODEL", options.path,
                   "A model (directory or .gguf), or a module's .mlir file")
      ->required();
  command->add_option("--entry", options.entry,
                      entryNames() + " (default: " + options.defaultEntry +
                          ")");
  addShapeOptions(command, options);
  command->add_option("--weights", options.weights,
                      "Directory or file of the weights, when they are not "
                      "where the model is");
}

void addShapeOptions(CLI::App *command, ModelOptions &options) {
  command->add_option("--batch", options.batch, "Rows")->check(atLeast(1));
  command
      ->add_option("--max-seq,--seq", options.maxSeq,
                   "Longest sequence (default: the model's, at most 2048)")
      ->check(atLeast(1));
  command->add_flag("--attention-mask", options.attentionMask,
                    "Let logits, next and training take an attention_mask "
                    "(encoders always do)");
  command
      ->add_option("--microbatches", options.microbatches,
                   "Parts of a training step's batch, one after another")
      ->check(atLeast(1));
  command->add_flag("--evaluation", options.evaluation,
                    "Give --entry train an entry loss beside it, which learns "
                    "nothing");
  command
      ->add_option("--optimizer", options.optimizer,
                   "Of --entry train: adamw (default) or sgd")
      ->check(CLI::IsMember({"adamw", "sgd"}));
  command
      ->add_option("--dtype", options.dtype,
                   "Stored type of weights at run time")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command
      ->add_option("--set", options.settings,
                   "Override a setting of the model: key=value")
      ->allow_extra_args(false);
  command->add_flag("--strict", options.strict,
                    "A stored tensor that nothing uses is an error");
}

Result<mlir::OwningOpRef<mlir::ModuleOp>>
readModel(const ModelOptions &options, mlir::MLIRContext &context,
          const DiagnosticText &diagnostics) {
  if (!isModule(options.path))
    return import(options, context);
  TANDEM_TRY(checkModuleOptions(options));
  return readModule(options.path, context, diagnostics);
}

} // namespace tandem

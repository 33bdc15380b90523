//===- ImportModel.h - From model files to a phase-1 module -----*- C++ -*-===//
//
//   ImportOptions options;
//   options.entry.entry = Entry::Generate;
//   TANDEM_ASSIGN(ImportedModel model,
//                 importModel("SmolLM2.gguf", options, context));
//
// Besides its functions a module carries what later steps ask of the model:
//
//   tandem.facts      {batch, bos_id, dtype, entry, eos_ids, family, layers,
//                      max_position, max_seq, microbatches, token_types,
//                      vocab_size}
//   tandem.dims       what the dimensions of stored tensors, inputs and named
//                     activations run over, `*` for the layer:
//                     {"@ffn" = "batch sequence ffn", ...}
//   tandem.sources    weight files: [{path, size, hash}]
//   tandem.tokenizer  the tokenizer's file likewise
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_IMPORTMODEL_H
#define TANDEM_FRONTEND_IMPORTMODEL_H

#include "frontend/BuildModel.h"

namespace tandem {

struct ImportOptions {
  EntryOptions entry; ///< `entry.dtype` is used only with `hasDType`.
  bool hasDType = false;
  std::vector<std::string> settings; ///< `key=value`, before anything is read.
  bool strict = false;     ///< A stored tensor that nothing uses is an error.
  bool weights = true;     ///< false: read the configuration only.
  std::string weightsPath; ///< Where the weights are, when elsewhere.
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> warnings;
};

/// Names of the module's attributes.
inline constexpr llvm::StringLiteral kFacts = "tandem.facts";
inline constexpr llvm::StringLiteral kDims = "tandem.dims";
inline constexpr llvm::StringLiteral kSources = "tandem.sources";
inline constexpr llvm::StringLiteral kTokenizer = "tandem.tokenizer";

/// Loads the dialects that a module of ours needs.
void loadDialects(mlir::MLIRContext &context);

/// Reads the Hugging Face directory or GGUF file `path`, checks configuration
/// and tensors against each other, and builds the module. A directory that
/// holds a config.json alone is built unchecked.
Result<ImportedModel> importModel(const std::string &path,
                                  const ImportOptions &options,
                                  mlir::MLIRContext &context);

} // namespace tandem

#endif // TANDEM_FRONTEND_IMPORTMODEL_H

//===- Model.h - The files of a model, opened -------------------*- C++ -*-===//
//
// A model is given as one path: a Hugging Face directory, or a GGUF file (the
// first, if it is split). Both come out as the same things: stored tensors
// and settings.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_MODEL_H
#define TANDEM_RUNTIME_FILES_MODEL_H

#include "runtime/files/ConfigNode.h"
#include "runtime/files/TensorStore.h"

namespace tandem {

enum class ModelKind { HuggingFace, Gguf };

struct ModelFiles {
  ModelKind kind = ModelKind::HuggingFace;
  /// The directory, or the GGUF file.
  std::string path;
  /// Empty where a directory has a configuration but no weights.
  TensorStore tensors;
  /// config.json, or GGUF's metadata.
  ConfigNode config;
  /// Of a directory, where it has them.
  std::optional<ConfigNode> generationConfig, tokenizerConfig;
};

/// Opens the model at `path`. A directory without config.json that holds one
/// GGUF model is that model. With `weights` false no tensor file is opened.
Result<ModelFiles> openModel(const std::string &path, bool weights = true);

/// The ids that end a text: eos_token_id of generation_config.json, else of
/// config.json, a number or a list; GGUF's. Empty where none is named.
Result<std::vector<int64_t>> endIds(const ModelFiles &model);

/// The id that begins a text, from the same places; nothing where none is
/// named.
Result<std::optional<int64_t>> beginId(const ModelFiles &model);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_MODEL_H

//===- Export.h - A checkpoint as a Hugging Face directory ------*- C++ -*-===//
//
// Puts the stored tensors together again from the views that a plan made
// parameters of, under their names, in their shapes and element types, and
// writes what others load: config.json, model.safetensors (in parts with an
// index where it is large) and the tokenizer's files.
//
//   checkpoint   c_attn.weight (query), #2 (key), #3 (value)   f32 [.., ..]
//   exported     c_attn.weight [d, 3d]                         as stored
//
// What the model's files hold and no parameter views (a head that the graph
// does not use) comes from those files, where they are still there.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CHECKPOINT_EXPORT_H
#define TANDEM_RUNTIME_FILES_CHECKPOINT_EXPORT_H

#include "runtime/files/checkpoint/Checkpoint.h"

namespace tandem {

struct ExportOptions {
  uint64_t bytesPerFile = 5'000'000'000;
};

struct ExportReport {
  int64_t tensors = 0;
  uint64_t bytes = 0;
  std::vector<std::string> files; ///< All that were written.
  /// What is not in the export because it could not be found.
  std::vector<std::string> missing;
};

/// Writes `folder`, which appears only when it is complete. Refuses a folder
/// that is there and not empty, a checkpoint that is damaged, and one of a
/// model that had no config.json.
Result<ExportReport> exportCheckpoint(const Checkpoint &checkpoint,
                                      const std::string &folder,
                                      const ExportOptions &options = {});

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CHECKPOINT_EXPORT_H

//===- Gguf.h - Reading GGUF files ------------------------------*- C++ -*-===//
//
// A GGUF file is a header with counts, key-value metadata, a list of tensors
// and, aligned, their bytes. A large model comes as a set of such files,
// NAME-00001-of-00003.gguf and so on, read from the first.
//
// Metadata is a ConfigNode whose keys are GGUF's own, dots included:
//
//   gguf.metadata.integer("llama.block_count")
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_GGUF_H
#define TANDEM_RUNTIME_FILES_GGUF_H

#include "runtime/files/ConfigNode.h"
#include "runtime/files/TensorStore.h"

namespace tandem {

struct GgufModel {
  ConfigNode metadata; ///< Of the first file.
  TensorStore tensors; ///< Of all files.
};

/// Opens the GGUF file `path` of version 2 or 3, and with it the others of a
/// split model. Refuses a part that is not the first, and sets with parts
/// missing.
Result<GgufModel> readGguf(const std::string &path);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_GGUF_H

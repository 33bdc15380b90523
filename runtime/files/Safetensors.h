//===- Safetensors.h - Reading safetensors files ----------------*- C++ -*-===//
//
//   [u64 size of the header][header: a JSON object][the tensors' bytes]
//
// The header maps each name to dtype, shape and the range of its bytes; the
// ranges fill the rest of the file without gaps.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_SAFETENSORS_H
#define TANDEM_RUNTIME_FILES_SAFETENSORS_H

#include "runtime/files/TensorStore.h"

#include <map>

namespace tandem {

/// Opens the safetensors file `path`. `metadata`, where given, receives the
/// header's `__metadata__`.
Result<TensorStore>
readSafetensors(const std::string &path,
                std::map<std::string, std::string> *metadata = nullptr);

/// Opens the weights of the Hugging Face directory `directory`: its
/// model.safetensors, or all files that its model.safetensors.index.json
/// names. An empty store where it holds neither.
Result<TensorStore> readSafetensorsDirectory(const std::string &directory);

/// The format's name of `dtype` (`F32`), nothing for GGUF's blocks.
std::optional<std::string> safetensorsName(DType dtype);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_SAFETENSORS_H

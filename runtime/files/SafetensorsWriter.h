//===- SafetensorsWriter.h - Writing safetensors files ----------*- C++ -*-===//
//
// All tensors are declared first, since their places stand in the header;
// then their bytes come in any order, whole or in pieces. The file appears
// under its name only when it is complete.
//
//   TANDEM_ASSIGN(auto writer,
//                 SafetensorsWriter::create(path, {{"logits", DType::F32,
//                                                   {2, 13, 97}}}));
//   TANDEM_TRY(writer.write("logits", 0, data, bytes));
//   TANDEM_TRY(writer.commit());
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_SAFETENSORSWRITER_H
#define TANDEM_RUNTIME_FILES_SAFETENSORSWRITER_H

#include "runtime/base/DType.h"
#include "runtime/files/NewFile.h"

#include <map>
#include <vector>

namespace tandem {

/// What a file says about a tensor.
struct TensorHeader {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

/// Where everything in a file goes.
struct SafetensorsLayout {
  struct Place {
    uint64_t offset, size; ///< In bytes, from the start of the file.
  };
  std::string head; ///< All before the first tensor's bytes.
  std::map<std::string, Place> places;
  uint64_t bytes = 0; ///< Of the whole file.
};

/// The layout of a file of these tensors: the same in whatever order they
/// come. Refuses names that are not unique or not UTF-8, and types that the
/// format does not have.
Result<SafetensorsLayout>
layOutSafetensors(std::vector<TensorHeader> tensors,
                  const std::map<std::string, std::string> &metadata = {});

class SafetensorsWriter {
public:
  /// Begins the file `path` with these tensors; refuses what
  /// layOutSafetensors does.
  static Result<SafetensorsWriter>
  create(const std::string &path, std::vector<TensorHeader> tensors,
         const std::map<std::string, std::string> &metadata = {});

  /// Writes `size` bytes of the tensor `name`, from its byte `offset` on.
  Status write(const std::string &name, uint64_t offset, const void *data,
               uint64_t size);
  /// Completes the file. Refuses where bytes are missing.
  Status commit();

private:
  explicit SafetensorsWriter(NewFile file) : file_(std::move(file)) {}

  NewFile file_;
  std::string path_;
  std::map<std::string, SafetensorsLayout::Place> places_;
  std::map<std::string, uint64_t> written_;
};

/// A tensor in memory, dense and row-major.
struct TensorToWrite {
  TensorHeader header;
  const void *data;
};

/// Writes a whole file at once.
Status
writeSafetensors(const std::string &path,
                 const std::vector<TensorToWrite> &tensors,
                 const std::map<std::string, std::string> &metadata = {});

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_SAFETENSORSWRITER_H

//===- TokenStream.h - A corpus as one sequence of ids ----------*- C++ -*-===//
//
// Texts and token files, put one behind the other:
//
//   FILE.txt   text through the model's tokenizer, without special tokens
//              around it; its bytes where the model has none
//   FILE.bin   little-endian ids, uint16 or uint32
//   DIR        all such files of a folder, in the order of their names
//
// Token files are mapped, not read: a step costs what it takes from them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_TOKENSTREAM_H
#define TANDEM_RUNTIME_SESSION_TOKENSTREAM_H

#include "runtime/base/Status.h"

#include <memory>
#include <vector>

namespace tandem {

class MappedFile;
class Tokenizer;

/// What a file of data holds.
enum class DataType { Text, Uint16, Uint32 };
/// `text`, `uint16`, `uint32`; nothing for other words.
std::optional<DataType> parseDataType(const std::string &word);

struct TokenStreamOptions {
  std::shared_ptr<const Tokenizer> tokenizer; ///< Null: texts are bytes.
  int64_t vocabulary = 0;                     ///< Ids are below it.
  /// Of all files; otherwise the name's ending says it, and a .bin file holds
  /// the narrower type that the vocabulary fits.
  std::optional<DataType> type;
};

class TokenStream {
public:
  static Result<TokenStream> open(const std::string &path,
                                  const TokenStreamOptions &options);

  int64_t size() const { return size_; }
  /// Ids `begin` to `begin + count - 1`. Refuses one outside the vocabulary,
  /// by its file and offset.
  Status read(int64_t begin, int64_t count, int32_t *ids) const;

private:
  struct Piece {
    std::string path;
    std::shared_ptr<const MappedFile> file; ///< Of tokens or bytes.
    std::vector<int32_t> ids;     ///< Of a text, where it has no file.
    int64_t width = 1;            ///< Bytes of an id in the file.
    int64_t begin = 0, count = 0; ///< Ids in the stream.
    uint32_t at(int64_t index) const;
  };
  Status add(const std::string &path, const TokenStreamOptions &options);
  static Status load(Piece &piece, DataType type,
                     const TokenStreamOptions &options);
  Status outside(const Piece &piece, int64_t index, uint32_t id) const;

  std::vector<Piece> pieces;
  int64_t size_ = 0, vocabulary = 0;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_TOKENSTREAM_H

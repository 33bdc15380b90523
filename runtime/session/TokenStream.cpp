#include "runtime/session/TokenStream.h"

#include "runtime/base/Log.h"
#include "runtime/files/MappedFile.h"
#include "runtime/files/Tokenizer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// What the name's ending says of the file.
std::optional<DataType> typeOf(const fs::path &path,
                               const TokenStreamOptions &options) {
  if (options.type)
    return options.type;
  if (path.extension() == ".txt")
    return DataType::Text;
  if (path.extension() == ".bin")
    return options.vocabulary > 1 << 16 ? DataType::Uint32 : DataType::Uint16;
  return std::nullopt;
}

/// The files of a folder that hold data, in the order of their names.
Result<std::vector<std::string>> filesIn(const std::string &folder,
                                         const TokenStreamOptions &options) {
  std::vector<std::string> files;
  std::string ignored;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename();
    if (name[0] == '.')
      continue;
    if (it->is_regular_file(error) && typeOf(it->path(), options))
      files.push_back(it->path());
    else
      ignored += (ignored.empty() ? "" : ", ") + name;
  }
  if (error)
    return Status::refused("cannot list '" + folder + "': " + error.message());
  if (files.empty())
    return Status::refused("'" + folder +
                           "' holds no data; expected .txt or .bin files, or "
                           "others with --data-type");
  if (!ignored.empty())
    logWarning("of '" + folder + "' only .txt and .bin files are data; left " +
               "out: " + ignored);
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

std::optional<DataType> parseDataType(const std::string &word) {
  if (word == "text")
    return DataType::Text;
  if (word == "uint16")
    return DataType::Uint16;
  if (word == "uint32")
    return DataType::Uint32;
  return std::nullopt;
}

uint32_t TokenStream::Piece::at(int64_t index) const {
  if (!ids.empty())
    return static_cast<uint32_t>(ids[static_cast<size_t>(index)]);
  uint32_t id = 0; // Little-endian, as this machine is.
  std::memcpy(&id, file->data() + index * width, static_cast<size_t>(width));
  return id;
}

Status TokenStream::load(Piece &piece, DataType type,
                         const TokenStreamOptions &options) {
  TANDEM_ASSIGN(piece.file, MappedFile::open(piece.path));
  auto bytes = static_cast<int64_t>(piece.file->size());
  if (type == DataType::Text && options.tokenizer) {
    TANDEM_ASSIGN(piece.ids, options.tokenizer->encode(piece.file->text()));
    piece.count = static_cast<int64_t>(piece.ids.size());
    return Status();
  }
  piece.width = type == DataType::Text ? 1 : type == DataType::Uint16 ? 2 : 4;
  if (bytes % piece.width != 0)
    return Status::refused("'" + piece.path + "' has " + std::to_string(bytes) +
                           " bytes, no whole number of ids of " +
                           std::to_string(piece.width) + " bytes; is its " +
                           "--data-type another?");
  piece.count = bytes / piece.width;
  return Status();
}

Status TokenStream::add(const std::string &path,
                        const TokenStreamOptions &options) {
  std::optional<DataType> type = typeOf(path, options);
  if (!type) {
    TANDEM_TRY(MappedFile::open(path).status()); // It may not be there.
    return Status::refused("'" + path +
                           "' is neither .txt, .bin nor .safetensors; say "
                           "what it holds by --data-type text, uint16 or "
                           "uint32");
  }
  Piece piece;
  piece.path = path;
  piece.begin = size_;
  Status loaded = load(piece, *type, options);
  if (!loaded.ok())
    return loaded.message().find(path) == std::string::npos
               ? loaded.withContext(path)
               : loaded;
  size_ += piece.count;
  if (piece.count > 0)
    pieces.push_back(std::move(piece));
  return Status();
}

Result<TokenStream> TokenStream::open(const std::string &path,
                                      const TokenStreamOptions &options) {
  TokenStream stream;
  stream.vocabulary = options.vocabulary;
  std::error_code error;
  std::vector<std::string> files = {path};
  if (fs::is_directory(path, error)) {
    TANDEM_ASSIGN(files, filesIn(path, options));
  }
  for (const std::string &file : files)
    TANDEM_TRY(stream.add(file, options));
  return stream;
}

Status TokenStream::outside(const Piece &piece, int64_t index,
                            uint32_t id) const {
  std::string place = piece.ids.empty()
                          ? "byte " + std::to_string(index * piece.width)
                          : "token " + std::to_string(index);
  return Status::refused("'" + piece.path + "': the id at " + place + " is " +
                         std::to_string(id) + ", outside the vocabulary of " +
                         std::to_string(vocabulary) +
                         "; is the data another model's, or its --data-type "
                         "another?");
}

Status TokenStream::read(int64_t begin, int64_t count, int32_t *ids) const {
  auto piece = std::upper_bound(
      pieces.begin(), pieces.end(), begin,
      [](int64_t at, const Piece &each) { return at < each.begin; });
  --piece;
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = begin + i - piece->begin;
    if (index == piece->count) {
      ++piece;
      index = 0;
    }
    uint32_t id = piece->at(index);
    if (id >= static_cast<uint64_t>(vocabulary))
      return outside(*piece, index, id);
    ids[i] = static_cast<int32_t>(id);
  }
  return Status();
}

} // namespace tandem

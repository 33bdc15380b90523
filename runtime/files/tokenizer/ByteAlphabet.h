//===- ByteAlphabet.h - Bytes as printable characters -----------*- C++ -*-===//
//
// Byte-level vocabularies are written in an alphabet of 256 printable
// characters, one a byte: printable Latin-1 stands for itself, the other 68
// bytes, in order, for U+0100 and on. A space is written U+0120.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_BYTEALPHABET_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_BYTEALPHABET_H

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// The bytes that `token` stands for; nothing where a character of it is not
/// of the alphabet.
std::optional<std::string> bytesOfAlphabet(std::string_view token);

/// The character, in UTF-8, that stands for `byte`.
std::string alphabetOf(unsigned char byte);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_BYTEALPHABET_H

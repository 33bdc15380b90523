#include "runtime/files/tokenizer/ByteAlphabet.h"

#include "runtime/files/Utf8.h"

#include <array>

namespace tandem {
namespace {

struct Alphabet {
  std::array<uint32_t, 256> characters;
  /// The byte of each character below U+0144, -1 where it is no letter.
  std::array<int, 0x144> bytes;

  Alphabet() {
    bytes.fill(-1);
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      bool printable = (byte >= '!' && byte <= '~') ||
                       (byte >= 0xa1 && byte <= 0xff && byte != 0xad);
      characters[byte] = printable ? byte : next++;
      bytes[characters[byte]] = static_cast<int>(byte);
    }
  }
};

const Alphabet &alphabet() {
  static const Alphabet instance;
  return instance;
}

} // namespace

std::optional<std::string> bytesOfAlphabet(std::string_view token) {
  std::string bytes;
  for (size_t i = 0; i < token.size();) {
    utf8::Unit unit = utf8::unitAt(token, i);
    if (unit.kind != utf8::Unit::Whole ||
        unit.codePoint >= alphabet().bytes.size() ||
        alphabet().bytes[unit.codePoint] < 0)
      return std::nullopt;
    bytes += static_cast<char>(alphabet().bytes[unit.codePoint]);
    i += unit.length;
  }
  return bytes;
}

std::string alphabetOf(unsigned char byte) {
  std::string text;
  utf8::append(text, alphabet().characters[byte]);
  return text;
}

} // namespace tandem

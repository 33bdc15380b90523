//===- Utf8.h - Reading and writing UTF-8 -----------------------*- C++ -*-===//
//
// The one place that knows how code points are laid out in bytes. Surrogates,
// overlong forms and values above U+10FFFF are not UTF-8.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_UTF8_H
#define TANDEM_RUNTIME_FILES_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::utf8 {

/// What stands at one position of a text.
struct Unit {
  enum Kind {
    Whole,  ///< A code point of `length` bytes.
    Broken, ///< `length` bytes that no code point can start with.
    Cut,    ///< The text ends within a code point; `length` bytes are there.
  };
  Kind kind;
  uint32_t codePoint; ///< U+FFFD unless Whole.
  size_t length;      ///< At least 1.
};

/// The unit at `position`, which is below text.size(). A broken unit is the
/// longest run that begins as a code point does, at least one byte, so that
/// each becomes one replacement character.
Unit unitAt(std::string_view text, size_t position);

/// The first byte that is not part of valid UTF-8, npos where all is.
size_t firstInvalid(std::string_view text);
inline bool isValid(std::string_view text) {
  return firstInvalid(text) == std::string_view::npos;
}

/// Appends `codePoint` (no surrogate, at most U+10FFFF).
void append(std::string &text, uint32_t codePoint);

/// `text` with each broken or cut unit replaced by U+FFFD.
std::string repaired(std::string_view text);

} // namespace tandem::utf8

#endif // TANDEM_RUNTIME_FILES_UTF8_H

//===- Unicode.h - Canonical composition and decomposition ------*- C++ -*-===//
//
// Unicode's normal forms C and D: an accented letter as one code point where
// there is one, or as a letter and its marks, in either case in one order.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_UNICODE_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_UNICODE_H

#include <string>
#include <string_view>

namespace tandem::unicode {

/// The normal form D of `text`, which is UTF-8.
std::string decomposed(std::string_view text);
/// The normal form C of `text`, which is UTF-8.
std::string composed(std::string_view text);

} // namespace tandem::unicode

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_UNICODE_H

//===- UnicodeTables.h - What composition needs to know ---------*- C++ -*-===//
//
// Tables of the Unicode Character Database, version 14, written by
// WriteUnicodeTables.py. Hangul syllables are computed and not in them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_TOKENIZER_UNICODETABLES_H
#define TANDEM_RUNTIME_FILES_TOKENIZER_UNICODETABLES_H

#include <cstddef>
#include <cstdint>

namespace tandem::unicode {

/// `code` decomposes canonically into `first` and, unless 0, `second`.
struct Decomposition {
  uint32_t code, first, second;
};
/// In order of `code`.
extern const Decomposition decompositions[];
extern const size_t decompositionCount;

/// Code points that decompose but are not composed again.
extern const uint32_t compositionExclusions[];
extern const size_t compositionExclusionCount;

/// Code points `first` to `last` have this combining class, which is not 0.
struct CombiningClass {
  uint32_t first, last;
  uint8_t value;
};
/// In order of `first`.
extern const CombiningClass combiningClasses[];
extern const size_t combiningClassCount;

} // namespace tandem::unicode

#endif // TANDEM_RUNTIME_FILES_TOKENIZER_UNICODETABLES_H

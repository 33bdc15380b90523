//===- LastWords.h - What to know when a run ends at once -------*- C++ -*-===//
//
// A process that leaves because its world has failed, or because a launcher
// told it to end, says these words behind the cause: what a person needs in
// order to go on, such as the last complete checkpoint.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_BASE_LASTWORDS_H
#define TANDEM_RUNTIME_BASE_LASTWORDS_H

#include <string>

namespace tandem {

/// Of this process; may be called from any thread. Empty: none.
void setLastWords(const std::string &words);
std::string lastWords();

} // namespace tandem

#endif // TANDEM_RUNTIME_BASE_LASTWORDS_H

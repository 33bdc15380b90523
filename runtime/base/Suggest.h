//===- Suggest.h - What somebody may have meant -----------------*- C++ -*-===//

#ifndef TANDEM_RUNTIME_BASE_SUGGEST_H
#define TANDEM_RUNTIME_BASE_SUGGEST_H

#include <string>
#include <vector>

namespace tandem {

/// Fewest insertions, deletions and replacements that turn `a` into `b`.
size_t editDistance(const std::string &a, const std::string &b);

/// `; did you mean 'NAME'?` with the known name that is nearest, nothing where
/// none is near.
std::string didYouMean(const std::string &name,
                       const std::vector<std::string> &known);

} // namespace tandem

#endif // TANDEM_RUNTIME_BASE_SUGGEST_H

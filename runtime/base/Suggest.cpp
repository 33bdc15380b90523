#include "runtime/base/Suggest.h"

#include <algorithm>
#include <numeric>

namespace tandem {

size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string didYouMean(const std::string &name,
                       const std::vector<std::string> &known) {
  // Names are long; a third of one may be mistyped.
  size_t best = name.size() / 3 + 1;
  const std::string *nearest = nullptr;
  for (const std::string &candidate : known)
    if (size_t distance = editDistance(name, candidate); distance < best) {
      best = distance;
      nearest = &candidate;
    }
  return nearest ? "; did you mean '" + *nearest + "'?" : "";
}

} // namespace tandem

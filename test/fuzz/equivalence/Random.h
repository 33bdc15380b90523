//===- Random.h - Draws that a seed fixes on every machine ------*- C++ -*-===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOM_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOM_H

#include <cstdint>
#include <random>
#include <vector>

namespace tandem::test {

/// std::mt19937_64 without the library's distributions, which differ from one
/// library to another.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// Below `limit`, which is at least 1.
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(limit));
  }
  /// From `low` to `high`, both included.
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(static_cast<int64_t>(from.size()))];
  }
  template <typename T> void shuffle(std::vector<T> &items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(static_cast<int64_t>(i))]);
  }

private:
  std::mt19937_64 engine;
};

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOM_H

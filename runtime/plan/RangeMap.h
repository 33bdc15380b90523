//===- RangeMap.h - What is known of which bytes ----------------*- C++ -*-===//
//
// Ranges of bytes that do not overlap, each with a T:
//
//   map.set(0, 64, a);  map.set(16, 32, b);
//   map.each(8, 24, f);            // f(8, 16, a), f(16, 24, b)
//
// `set` cuts what lay across its ends and forgets what lay within.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_RANGEMAP_H
#define TANDEM_RUNTIME_PLAN_RANGEMAP_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace tandem {

template <typename T> class RangeMap {
public:
  void set(uint64_t begin, uint64_t end, T value) {
    if (begin >= end)
      return;
    cut(begin);
    cut(end);
    ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
    ranges.insert_or_assign(begin, Range{end, std::move(value)});
  }

  /// Visits what is known of [begin, end), in order, until a visit returns
  /// false; `visit(from, to, T &)` gets ranges clipped to it, but changes to
  /// the T hold for all of its range.
  template <typename Visit>
  void each(uint64_t begin, uint64_t end, const Visit &visit) {
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second.end > begin)
      --it;
    for (; it != ranges.end() && it->first < end; ++it)
      if (!visit(std::max(begin, it->first), std::min(end, it->second.end),
                 it->second.value))
        return;
  }

  bool empty() const { return ranges.empty(); }

private:
  struct Range {
    uint64_t end;
    T value;
  };

  /// Makes a range end at `at` if one goes across.
  void cut(uint64_t at) {
    auto it = ranges.lower_bound(at);
    if (it == ranges.begin())
      return;
    --it;
    if (it->second.end <= at)
      return;
    Range rest = it->second;
    it->second.end = at;
    ranges.insert_or_assign(at, std::move(rest));
  }

  std::map<uint64_t, Range> ranges; ///< By their begin.
};

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_RANGEMAP_H

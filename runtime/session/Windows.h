//===- Windows.h - Which tokens a step learns from --------------*- C++ -*-===//
//
// A corpus of T ids is cut into windows of seq + 1 ids at stride seq, so that
// each id but the first is predicted once; what is left at the end, too short
// for a window, is dropped. The windows are taken epoch by epoch, in an order
// that follows from the seed and the epoch alone:
//
//   endless sequence   0 1 2 ... W-1 | W W+1 ... 2W-1 | 2W ...
//   corpus order       a permutation | another        | ...
//
// Step s of batch B takes number s * B to s * B + B - 1. The place in the
// data is therefore one number, whatever the layout; and no step costs more
// than its rows, since the permutation is computed, not stored.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_WINDOWS_H
#define TANDEM_RUNTIME_SESSION_WINDOWS_H

#include <cstdint>

namespace tandem {

/// A permutation of 0 to size - 1: a Feistel network of eight rounds over the
/// smallest square of a power of two that is not below `size`, walked until
/// it comes out below. Round i replaces (left, right), `halfBits` bits each,
/// by (right, left xor philox({right, i, epoch}, seed)[0]), the epoch in two
/// words.
class EpochOrder {
public:
  EpochOrder(int64_t size, uint64_t seed, uint64_t epoch);
  int64_t at(int64_t index) const;

private:
  uint64_t permute(uint64_t value) const;

  uint64_t size_, seed_, epoch_;
  int halfBits_ = 0;
};

class Windows {
public:
  /// Of `tokens` ids; `sequence` >= 1.
  Windows(int64_t tokens, int64_t sequence, uint64_t seed);

  /// Windows of one epoch; 0 where the corpus is too short.
  int64_t count() const { return count_; }
  /// Ids at the end that no window holds.
  int64_t dropped() const { return dropped_; }
  /// The first id of window `number` >= 0 of the endless sequence.
  int64_t begin(int64_t number) const;

private:
  int64_t sequence_, count_, dropped_;
  uint64_t seed_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_WINDOWS_H

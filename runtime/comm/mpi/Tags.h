//===- Tags.h - Which message belongs to which call -------------*- C++ -*-===//
//
// What it is: MPI's tag as (channel, group, sequence number). MPI keeps the
// order of messages with one tag between two ranks, and a channel's calls are
// in one order on all ranks of a group; so messages already match with the
// channel alone. Group and number are in the tag so that ranks which
// disagree about the order wait, and are found by the deadline, instead of
// exchanging the wrong bytes. Both are cut to the bits there are: two groups
// whose short forms agree still match right where the plan is right.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPI_TAGS_H
#define TANDEM_RUNTIME_COMM_MPI_TAGS_H

#include <cstdint>
#include <vector>

namespace tandem {

class TagLayout {
public:
  /// Fits tags into 0 to `limit`, which MPI promises to be at least 32767.
  explicit TagLayout(int64_t limit);

  int32_t tag(int channel, uint32_t group, uint32_t sequence) const;
  /// The short form of a group of two or more ranks: never 0, which stands
  /// for send and receive between two ranks.
  uint32_t groupKey(const std::vector<int64_t> &members) const;

private:
  int groupBits, sequenceBits;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MPI_TAGS_H

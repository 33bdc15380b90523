//===- Tags.h - Which message belongs to which call -------------*- C++ -*-===//
//
// What it is: MPI's tag as (channel or lane, group, sequence number, call). MPI
// keeps the order of messages with one tag between two ranks, and the calls of
// a channel or lane are in one order on all ranks of a group; so messages of a
// right plan match with the channel or lane alone. The other three are in the
// tag so that ranks which disagree wait, and are found out by the control
// plane, instead of exchanging the wrong bytes. They are cut to the bits there
// are: where two short forms happen to agree, right plans still match right.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPI_TAGS_H
#define TANDEM_RUNTIME_COMM_MPI_TAGS_H

#include "runtime/comm/Call.h"
#include "runtime/comm/Communicator.h"

#include <vector>

namespace tandem {

class TagLayout {
public:
  /// Those of plans, and the one of what runs before and after steps.
  static constexpr int setUpLane = Communicator::maxLanes;
  static constexpr int lanes = setUpLane + 1;

  /// Fits tags into 0 to `limit`, which MPI promises to be at least 32767.
  explicit TagLayout(int64_t limit);

  /// `group` is a hashRanks of the group, or of the pair. Both ends of a
  /// transfer between two ranks have one tag.
  /// `way`: a channel, or the number of all channels plus a lane.
  int32_t tag(int way, uint64_t group, uint32_t sequence,
              const Call &call) const;

private:
  int groupBits, sequenceBits, callBits;
};

/// The same for the same ranks in the same order, on every machine.
uint64_t hashRanks(const std::vector<int64_t> &ranks);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MPI_TAGS_H

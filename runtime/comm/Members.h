//===- Members.h - Which lists of ranks make a group ------------*- C++ -*-===//
//
// The checks of a group's members, whatever carries its messages.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MEMBERS_H
#define TANDEM_RUNTIME_COMM_MEMBERS_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

/// Where `rank` stands among `members`. Refused where the list is empty,
/// repeats a rank, holds one outside a world of `size` or leaves `rank` out.
Result<int64_t> positionAmong(const std::vector<int64_t> &members, int64_t rank,
                              int64_t size);

/// Refuses a position outside 0 to `ranks` - 1; `what` names it.
Status checkPosition(const char *what, int64_t position, int64_t ranks);
/// Refuses a channel outside 0 to Communicator::maxChannels - 1.
Status checkChannel(int channel);
/// Refuses a lane outside 0 to Communicator::maxLanes - 1.
Status checkLane(int lane);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MEMBERS_H

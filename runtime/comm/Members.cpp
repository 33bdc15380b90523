#include "runtime/comm/Members.h"

#include "runtime/comm/Communicator.h"

#include <algorithm>

namespace tandem {

Result<int64_t> positionAmong(const std::vector<int64_t> &members, int64_t rank,
                              int64_t size) {
  auto refuse = [&](int64_t wrong, const std::string &why) {
    return Status::refused("cannot make a group of " +
                           std::to_string(members.size()) + " ranks: rank " +
                           std::to_string(wrong) + " " + why);
  };
  std::vector<int64_t> sorted = members;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return refuse(*twice, "is listed twice");
  for (int64_t member : members)
    if (member < 0 || member >= size)
      return refuse(member, "is not one of the " + std::to_string(size) +
                                " ranks there are");
  auto found = std::find(members.begin(), members.end(), rank);
  if (found == members.end())
    return refuse(rank, "makes it but is not listed");
  return static_cast<int64_t>(found - members.begin());
}

Status checkPosition(const char *what, int64_t position, int64_t ranks) {
  if (position >= 0 && position < ranks)
    return Status();
  return Status::refused(std::string(what) + " " + std::to_string(position) +
                         " is not a position in a group of " +
                         std::to_string(ranks) + " ranks");
}

Status checkChannel(int channel) {
  if (channel >= 0 && channel < Communicator::maxChannels)
    return Status();
  return Status::refused(
      "channel " + std::to_string(channel) + " is not one of the " +
      std::to_string(Communicator::maxChannels) + " that a communicator has");
}

Status checkLane(int lane) {
  if (lane >= 0 && lane < Communicator::maxLanes)
    return Status();
  return Status::refused(
      "lane " + std::to_string(lane) + " is not one of the " +
      std::to_string(Communicator::maxLanes) + " that a communicator has");
}

} // namespace tandem

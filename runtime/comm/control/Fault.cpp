#include "runtime/comm/control/Fault.h"

#include <cstdio>

namespace tandem {
namespace {

std::string named(int64_t rank) { return "rank " + std::to_string(rank); }

std::string inSeconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", value);
  return text;
}

Fault at(int64_t rank, const ChannelState *state) {
  Fault fault;
  fault.rank = rank;
  if (state) {
    fault.instruction = state->instruction;
    fault.location = state->location;
  }
  return fault;
}

} // namespace

Fault Fault::closed(int64_t peer, const RankState &lastSeen) {
  Fault fault = at(peer, lastSeen.place());
  fault.cause = named(peer) +
                " was lost: its connection closed, so it was killed or "
                "crashed; " +
                lastSeen.describe(peer, "was last seen");
  return fault;
}

Fault Fault::silent(int64_t peer, double seconds, const RankState &lastSeen) {
  Fault fault = at(peer, lastSeen.place());
  fault.givenUp = true;
  fault.cause =
      named(peer) + " is stopped or unreachable: no sign of life for " +
      inSeconds(seconds) + "; " + lastSeen.describe(peer, "was last seen");
  return fault;
}

Fault Fault::stalled(int64_t waiter, const ChannelState &wait, double deadline,
                     int64_t rank, const ChannelState *culprit,
                     const std::string &why) {
  Fault fault = at(rank, culprit);
  fault.cause = named(rank) + " stalls: " + named(waiter) + " has waited " +
                inSeconds(wait.still) + " at " + wait.place() + " for " +
                named(wait.waitingFor) + " (deadline " + inSeconds(deadline) +
                "); " + named(rank);
  fault.cause +=
      culprit ? " is at " + culprit->place() + " and " + why : " " + why;
  return fault;
}

Fault Fault::mismatch(int64_t rank, const ChannelState &mine, int64_t peer,
                      const ChannelState &theirs) {
  Fault fault =
      of(callsDiffer(rank, mine.meeting.call, peer, theirs.meeting.call));
  fault.instruction = mine.instruction;
  fault.location = mine.location;
  fault.cause += "; " + named(rank) + " is at " + mine.place() + ", " +
                 named(peer) + " at " + theirs.place();
  return fault;
}

Fault Fault::of(const Status &status) {
  Fault fault;
  fault.code = status.code();
  fault.rank = status.rank;
  fault.instruction = status.instruction;
  fault.location = status.location;
  fault.cause = status.message();
  return fault;
}

Status Fault::status() const {
  Status status(code, cause);
  status.rank = rank;
  status.instruction = instruction;
  status.location = location;
  return status;
}

std::string Fault::frame() const {
  return FrameWriter(FrameKind::Fault)
      .put(static_cast<int32_t>(code))
      .put(rank)
      .put(givenUp)
      .put(instruction)
      .put(location)
      .put(cause)
      .finish();
}

Fault Fault::read(FrameReader &frame) {
  Fault fault;
  fault.code = static_cast<StatusCode>(frame.get<int32_t>());
  fault.rank = frame.get<int64_t>();
  fault.givenUp = frame.get<bool>();
  fault.instruction = frame.getText();
  fault.location = frame.getText();
  fault.cause = frame.getText();
  return fault;
}

} // namespace tandem

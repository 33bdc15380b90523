#include "runtime/comm/local/Meeting.h"

namespace tandem {

Meeting::Meeting(const std::vector<int64_t> &members, int channel)
    : members(members), channel(channel), seats(members.size()),
      stages(members.size() * 2 * stageBytes) {}

Place::Place(World &world, Meeting &meeting, int64_t position)
    : addresses(meeting.members.size()), world(world), meeting(meeting),
      ranks(static_cast<int64_t>(meeting.members.size())), self(position) {}

Status Place::meet(const Call &call, const void *in, void *out, int64_t to,
                   int64_t from) {
  if (world.ended())
    return leave();
  latest ^= 1u;
  Post &mine = meeting.seats[self].posts[latest];
  mine.call = call;
  mine.in = static_cast<const std::byte *>(in);
  mine.out = static_cast<std::byte *>(out);
  mine.to = static_cast<int32_t>(to);
  mine.from = static_cast<int32_t>(from);
  TANDEM_TRY(barrier());
  for (int64_t peer = 0; peer < ranks; ++peer)
    if (post(peer).call != call)
      return fail(callsDiffer(meeting.members[self], call,
                              meeting.members[peer], post(peer).call));
  return Status();
}

Status Place::barrier() {
  ++barriers;
  uint32_t target = barriers * static_cast<uint32_t>(ranks);
  meeting.seats[self].came.store(barriers, std::memory_order_relaxed);
  if (WaitWord::reached(meeting.arrivals.add(1, target), target))
    return Status();
  bool met = world.await(
      meeting.arrivals, meeting.members[self], meeting.channel,
      [target](uint32_t now) { return WaitWord::reached(now, target); },
      [this] { return whoIsMissing(); });
  return met ? Status() : leave();
}

int64_t Place::whoIsMissing() const {
  for (int64_t peer = 0; peer < ranks; ++peer) {
    uint32_t came = meeting.seats[peer].came.load(std::memory_order_relaxed);
    if (static_cast<int32_t>(came - barriers) < 0)
      return meeting.members[peer];
  }
  return meeting.members[self]; // all came in this moment
}

Status Place::fail(const Status &cause) {
  world.abort(cause, meeting.members[self]);
  return leave();
}

Status Place::leave() {
  for (const Meeting::Seat &seat : meeting.seats)
    seat.reading.awaitEnd();
  return world.fault();
}

} // namespace tandem

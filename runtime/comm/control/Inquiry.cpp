#include "runtime/comm/control/Inquiry.h"

#include <algorithm>

namespace tandem {

Inquiry::Inquiry(int64_t rank, ChannelState wait, double deadline)
    : rank(rank), wait(std::move(wait)), deadline(deadline),
      path{this->wait.waitingFor} {}

Fault Inquiry::blame(const ChannelState *state, const std::string &why) const {
  return Fault::stalled(rank, wait, deadline, target(), state, why);
}

/// The channel that the wait depends on: its own, or the one of another
/// stream that this stream in turn waits for.
const ChannelState *Inquiry::heldUpBy(const RankState &state) const {
  const ChannelState *own = state.find(wait.channel);
  if (own && own->waits())
    return own;
  for (const ChannelState &other : state.channels)
    if (other.waits() && other.still >= deadline / 2)
      return &other;
  return own ? own : state.foremost();
}

std::optional<Fault> Inquiry::answer(const RankState &state) {
  const ChannelState *there = heldUpBy(state);
  if (!there)
    return blame(nullptr, "has not begun its first instruction");
  // The wait began after the cause of it, so that half of it is proof enough.
  if (!there->waits())
    return blame(there, "waits for nobody");
  if (there->unpolled >= deadline / 2)
    return blame(there, "its thread does not run");
  if (there->still < deadline / 2)
    return blame(there, "goes on without meeting it");
  int64_t next = there->waitingFor;
  bool asked = std::find(path.begin(), path.end(), next) != path.end();
  if (next == rank || asked)
    return blame(there, "waits for rank " + std::to_string(next) +
                            ", so that they wait in a circle: nothing passes "
                            "between them, as when a network link is down");
  path.push_back(next);
  return std::nullopt;
}

Fault Inquiry::unanswered() const {
  return blame(nullptr, "lives but does not answer");
}

std::optional<Fault> compareCalls(int64_t rank, const ChannelState &mine,
                                  int64_t peer, const RankState &theirs) {
  auto isPair = [](CallKind kind) {
    return kind == CallKind::Send || kind == CallKind::Receive;
  };
  const ChannelState *there = theirs.find(mine.channel);
  if (isPair(mine.meeting.call.kind)) // Whose ends choose their channels.
    for (const ChannelState &other : theirs.channels)
      if (other.meeting.sameAs(mine.meeting))
        there = &other;
  if (!there || !there->meeting.sameAs(mine.meeting))
    return std::nullopt;
  Call a = mine.meeting.call, b = there->meeting.call;
  if (isPair(a.kind) && isPair(b.kind))
    a.kind = b.kind = CallKind::Send; // the two ends of one transfer
  if (a == b)
    return std::nullopt;
  return Fault::mismatch(rank, mine, peer, *there);
}

} // namespace tandem

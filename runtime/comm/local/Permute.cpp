//===- Permute.cpp - Each rank sends to one and hears from one ------------===//

#include "runtime/comm/Members.h"
#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {
namespace {

/// Where one sends the other must listen, and the other way round. All ranks
/// check all pairs, so that all of them see what is wrong.
Status checkPartners(Place &place, const Group &group) {
  auto rank = [&](int64_t position) {
    return "rank " + std::to_string(group.members()[position]);
  };
  for (int64_t peer = 0; peer < place.size(); ++peer) {
    const Post &post = place.post(peer);
    if (post.to >= 0 && place.post(post.to).from != peer)
      return place.fail(Status::rankFailed(
          "calls do not match: in a permute " + rank(peer) + " sends to " +
          rank(post.to) + ", which does not expect it"));
    if (post.from >= 0 && place.post(post.from).to != peer)
      return place.fail(
          Status::rankFailed("calls do not match: in a permute " + rank(peer) +
                             " expects to hear from " + rank(post.from) +
                             ", which does not send to it"));
  }
  return Status();
}

} // namespace

Status LocalCommunicator::permute(Group &group, int channel, const void *in,
                                  int64_t toPosition, void *out,
                                  int64_t fromPosition, int64_t bytes) {
  if (toPosition != -1)
    TANDEM_TRY(checkPosition("destination", toPosition, group.size()));
  if (fromPosition != -1)
    TANDEM_TRY(checkPosition("source", fromPosition, group.size()));
  Call call;
  call.kind = CallKind::Permute;
  call.bytes = bytes;
  TANDEM_ASSIGN(Place *const at, placeOf(group, channel, call.bytes));
  Place &place = *at;
  auto fetch = [&](bool staged) {
    if (bytes == 0)
      return;
    if (fromPosition < 0)
      std::memset(out, 0, bytes);
    else
      std::memcpy(out,
                  staged ? place.stageOf(fromPosition)
                         : place.post(fromPosition).in,
                  bytes);
  };
  bool staged = place.isStaged(bytes);
  if (staged && toPosition >= 0)
    place.putOnStage(in, bytes);
  TANDEM_TRY(place.meet(call, in, out, toPosition, fromPosition));
  TANDEM_TRY(checkPartners(place, group));
  if (staged) {
    fetch(/*staged=*/true);
    return Status();
  }
  TANDEM_TRY(place.read([&] { fetch(/*staged=*/false); }));
  return place.barrier();
}

} // namespace tandem

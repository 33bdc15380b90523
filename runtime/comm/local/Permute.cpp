//===- Permute.cpp - Each rank sends to one and hears from one ------------===//

#include "runtime/comm/Members.h"
#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {
namespace {

/// Who sends to this rank must be whom it listens to, and nobody else.
Status checkPartners(Place &place, const Group &group, int64_t from) {
  for (int64_t peer = 0; peer < place.size(); ++peer) {
    bool sends = place.post(peer).to == place.position();
    if (sends == (peer == from))
      continue;
    std::string self =
        "rank " + std::to_string(group.members()[place.position()]);
    std::string other = "rank " + std::to_string(group.members()[peer]);
    return place.fail(Status::rankFailed(
        "calls do not match: in a permute " +
        (sends ? other + " sends to " + self + ", which does not expect it"
               : self + " expects to hear from " + other +
                     ", which does not send to it")));
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
  TANDEM_TRY(place.meet(call, in, out, toPosition));
  TANDEM_TRY(checkPartners(place, group, fromPosition));
  if (staged) {
    fetch(/*staged=*/true);
    return Status();
  }
  TANDEM_TRY(place.read([&] { fetch(/*staged=*/false); }));
  return place.barrier();
}

} // namespace tandem

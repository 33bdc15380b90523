//===- AllToAll.cpp - Piece i of every rank goes to rank i ----------------===//

#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {

Status LocalCommunicator::allToAll(Group &group, int channel, const void *in,
                                   void *out, int64_t bytes) {
  Call call;
  call.kind = CallKind::AllToAll;
  call.bytes = bytes;
  TANDEM_ASSIGN(Place *const at, placeOf(group, channel, call.bytes));
  Place &place = *at;
  int64_t mine = place.position() * bytes;
  auto collect = [&](bool staged) {
    for (int64_t peer = 0; peer < place.size() && bytes > 0; ++peer)
      std::memcpy(static_cast<std::byte *>(out) + peer * bytes,
                  (staged ? place.stageOf(peer) : place.post(peer).in) + mine,
                  bytes);
  };
  if (place.isStaged(bytes * place.size())) {
    place.putOnStage(in, bytes * place.size());
    TANDEM_TRY(place.meet(call, in, out));
    collect(/*staged=*/true);
    return Status();
  }
  TANDEM_TRY(place.meet(call, in, out));
  TANDEM_TRY(place.read([&] { collect(/*staged=*/false); }));
  return place.barrier();
}

} // namespace tandem

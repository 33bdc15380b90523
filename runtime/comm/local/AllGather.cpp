//===- AllGather.cpp - All ranks get what each of them has ----------------===//

#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {

Status LocalCommunicator::allGather(Group &group, int channel, const void *in,
                                    void *out, int64_t bytes) {
  Call call;
  call.kind = CallKind::AllGather;
  call.bytes = bytes;
  TANDEM_ASSIGN(Place *const at, placeOf(group, channel, call.bytes));
  Place &place = *at;
  auto collect = [&](bool staged) {
    for (int64_t peer = 0; peer < place.size() && bytes > 0; ++peer)
      std::memmove(static_cast<std::byte *>(out) + peer * bytes,
                   staged ? place.stageOf(peer) : place.post(peer).in, bytes);
  };
  if (place.isStaged(bytes)) {
    place.putOnStage(in, bytes);
    TANDEM_TRY(place.meet(call, in, out));
    collect(/*staged=*/true);
    return Status();
  }
  TANDEM_TRY(place.meet(call, in, out));
  TANDEM_TRY(place.read([&] { collect(/*staged=*/false); }));
  return place.barrier();
}

} // namespace tandem

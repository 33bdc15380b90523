//===- ReduceScatter.cpp - Each rank gets its piece of the sum ------------===//
//
// Direct: rank i adds piece i of every rank's input, in one tree of ranks,
// reading the peers' memory in place.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Reduce.h"
#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {

Status LocalCommunicator::reduceScatter(Group &group, int channel,
                                        const void *in, void *out,
                                        int64_t count, DType dtype,
                                        ReductionKind kind, void *) {
  TANDEM_TRY(checkReduction(dtype, kind));
  Call call;
  call.kind = CallKind::ReduceScatter;
  call.dtype = dtype;
  call.reduction = kind;
  call.bytes = count * blockBytes(dtype);
  TANDEM_ASSIGN(Place *const at, placeOf(group, channel, call.bytes));
  Place &place = *at;
  auto add = [&](bool staged) {
    for (int64_t peer = 0; peer < place.size(); ++peer)
      place.addresses[peer] =
          (staged ? place.stageOf(peer) : place.post(peer).in) +
          place.position() * call.bytes;
    reduceInTree(place.addresses.data(), place.size(), out, count, dtype, kind);
  };
  if (place.isStaged(call.bytes * place.size())) {
    place.putOnStage(in, call.bytes * place.size());
    TANDEM_TRY(place.meet(call, in, out));
    add(/*staged=*/true);
    return Status();
  }
  TANDEM_TRY(place.meet(call, in, out));
  TANDEM_TRY(place.read([&] { add(/*staged=*/false); }));
  return place.barrier();
}

} // namespace tandem

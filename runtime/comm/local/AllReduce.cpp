//===- AllReduce.cpp - Sums that all ranks of a process get ---------------===//
//
// Small: every rank stages its values, all meet once, and each adds all of
// them in one tree of ranks. Large: a direct reduce-scatter (rank i adds piece
// i of all so, into its own `out`) and an all-gather. Both add the same values
// in the same order, so the size at which one takes over from the other changes
// no bit.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Reduce.h"
#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {
namespace {

struct Sum {
  const void *in;
  void *out;
  int64_t count;
  int64_t elementBytes;
  DType dtype;
  ReductionKind kind;
};

Status reduceStaged(Place &place, const Call &call, const Sum &sum) {
  place.putOnStage(sum.in, call.bytes);
  TANDEM_TRY(place.meet(call, sum.in, sum.out));
  for (int64_t peer = 0; peer < place.size(); ++peer)
    place.addresses[peer] = place.stageOf(peer);
  reduceInTree(place.addresses.data(), place.size(), sum.out, sum.count,
               sum.dtype, sum.kind);
  return Status();
}

/// Adds this rank's piece of all inputs. In place too: nobody else reads this
/// piece of this rank's input.
void reducePiece(Place &place, const Sum &sum) {
  Piece piece = pieceOf(sum.count, place.size(), place.position());
  int64_t offset = piece.begin * sum.elementBytes;
  for (int64_t peer = 0; peer < place.size(); ++peer)
    place.addresses[peer] = place.post(peer).in + offset;
  reduceInTree(place.addresses.data(), place.size(),
               static_cast<std::byte *>(sum.out) + offset, piece.count,
               sum.dtype, sum.kind);
}

void gatherPieces(Place &place, const Sum &sum) {
  for (int64_t peer = 0; peer < place.size(); ++peer) {
    Piece piece = pieceOf(sum.count, place.size(), peer);
    int64_t offset = piece.begin * sum.elementBytes;
    if (peer != place.position() && piece.count > 0)
      std::memcpy(static_cast<std::byte *>(sum.out) + offset,
                  place.post(peer).out + offset,
                  piece.count * sum.elementBytes);
  }
}

Status reduceInPieces(Place &place, const Call &call, const Sum &sum) {
  TANDEM_TRY(place.meet(call, sum.in, sum.out));
  TANDEM_TRY(place.read([&] { reducePiece(place, sum); }));
  TANDEM_TRY(place.barrier());
  TANDEM_TRY(place.read([&] { gatherPieces(place, sum); }));
  return place.barrier();
}

} // namespace

Status LocalCommunicator::allReduce(Group &group, int channel, const void *in,
                                    void *out, int64_t count, DType dtype,
                                    ReductionKind kind, void *) {
  TANDEM_TRY(checkReduction(dtype, kind));
  Call call;
  call.kind = CallKind::AllReduce;
  call.dtype = dtype;
  call.reduction = kind;
  int64_t elementBytes = blockBytes(dtype);
  call.bytes = count * elementBytes;
  TANDEM_ASSIGN(Place *const at, placeOf(group, channel, call.bytes));
  Place &place = *at;
  Sum sum{in, out, count, elementBytes, dtype, kind};
  return place.isStaged(call.bytes) ? reduceStaged(place, call, sum)
                                    : reduceInPieces(place, call, sum);
}

} // namespace tandem

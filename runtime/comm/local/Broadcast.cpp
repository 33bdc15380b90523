//===- Broadcast.cpp - All ranks get what one of them has -----------------===//

#include "runtime/comm/Members.h"
#include "runtime/comm/local/LocalCommunicator.h"

#include <cstring>

namespace tandem {

Status LocalCommunicator::broadcast(Group &group, int channel, void *data,
                                    int64_t bytes, int64_t root) {
  TANDEM_TRY(checkPosition("root", root, group.size()));
  Call call;
  call.kind = CallKind::Broadcast;
  call.bytes = bytes;
  call.root = static_cast<int32_t>(root);
  TANDEM_ASSIGN(Place *const at, placeOf(group, channel, call.bytes));
  Place &place = *at;
  bool isRoot = place.position() == root;
  bool staged = place.isStaged(bytes);
  if (staged && isRoot)
    place.putOnStage(data, bytes);
  TANDEM_TRY(place.meet(call, data, data));
  if (staged) {
    if (!isRoot && bytes > 0)
      std::memcpy(data, place.stageOf(root), bytes);
    return Status();
  }
  TANDEM_TRY(place.read([&] {
    if (!isRoot)
      std::memcpy(data, place.post(root).in, bytes);
  }));
  return place.barrier();
}

} // namespace tandem

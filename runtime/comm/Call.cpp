#include "runtime/comm/Call.h"

#include "runtime/comm/Reduce.h"

namespace tandem {

const char *name(CallKind kind) {
  switch (kind) {
  case CallKind::AllReduce:
    return "all_reduce";
  case CallKind::ReduceScatter:
    return "reduce_scatter";
  case CallKind::AllGather:
    return "all_gather";
  case CallKind::AllToAll:
    return "all_to_all";
  case CallKind::Permute:
    return "permute";
  case CallKind::Broadcast:
    return "broadcast";
  case CallKind::Send:
    return "send";
  case CallKind::Receive:
    return "recv";
  }
  return "unknown";
}

std::string Call::toString() const {
  std::string text =
      std::string(name(kind)) + " of " + std::to_string(bytes) + " bytes";
  if (kind == CallKind::AllReduce || kind == CallKind::ReduceScatter)
    text += ", " + std::string(name(dtype)) + ", " + name(reduction);
  if (kind == CallKind::Broadcast)
    text += " from position " + std::to_string(root);
  return text;
}

Status callsDiffer(int64_t rank, const Call &call, int64_t peer,
                   const Call &peersCall) {
  Status status = Status::rankFailed(
      "calls do not match: rank " + std::to_string(rank) + " made " +
      call.toString() + ", rank " + std::to_string(peer) + " made " +
      peersCall.toString());
  status.rank = rank;
  return status;
}

} // namespace tandem

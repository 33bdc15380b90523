//===- Call.h - What ranks compare before they trust a peer -----*- C++ -*-===//
//
// Two ranks that meet in a collective must have made the same call. A Call
// says what this one asked for; peers compare it before they touch data.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CALL_H
#define TANDEM_RUNTIME_COMM_CALL_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/mesh/Rule.h"

#include <string>

namespace tandem {

enum class CallKind : uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Permute,
  Broadcast,
  Send,
  Receive,
};

struct Call {
  CallKind kind = CallKind::AllReduce;
  DType dtype = DType::U8; ///< U8 where the call has none.
  ReductionKind reduction = ReductionKind::Sum;
  int32_t root = 0; ///< The position that broadcasts, 0 otherwise.
  /// As the header of Communicator counts: of one piece, count * element.
  int64_t bytes = 0;

  bool operator==(const Call &other) const {
    return kind == other.kind && dtype == other.dtype &&
           reduction == other.reduction && root == other.root &&
           bytes == other.bytes;
  }
  bool operator!=(const Call &other) const { return !(*this == other); }

  /// `all_reduce of 4096 bytes, f32, sum`
  std::string toString() const;
};

/// `all_reduce`, `send`, ...
const char *name(CallKind kind);

/// Two ranks' calls that should be one: says what each of them asked for.
Status callsDiffer(int64_t rank, const Call &call, int64_t peer,
                   const Call &peersCall);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CALL_H

//===- Fault.h - Why a world ended, in words for all ranks ------*- C++ -*-===//
//
// One rank finds a fault, all ranks print it. `cause` is the whole sentence;
// each rank adds what itself was doing.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_FAULT_H
#define TANDEM_RUNTIME_COMM_CONTROL_FAULT_H

#include "runtime/base/Status.h"
#include "runtime/comm/control/RankState.h"

namespace tandem {

struct Fault {
  StatusCode code = StatusCode::RankFailed;
  int64_t rank = -1; ///< Whose fault it is.
  /// That rank was given up as stopped or unreachable: should it run again,
  /// it leaves without a word.
  bool givenUp = false;
  std::string instruction, location; ///< Of that rank, as far as known.
  std::string cause;

  /// `peer`'s connection closed without a goodbye.
  static Fault closed(int64_t peer, const RankState &lastSeen);
  static Fault silent(int64_t peer, double seconds, const RankState &lastSeen);
  /// `waiter` waited at `wait` for longer than the deadline; the rank that
  /// keeps it is at `culprit` and `why` says what is wrong there.
  static Fault stalled(int64_t waiter, const ChannelState &wait,
                       double deadline, int64_t rank,
                       const ChannelState *culprit, const std::string &why);
  static Fault mismatch(int64_t rank, const ChannelState &mine, int64_t peer,
                        const ChannelState &theirs);
  static Fault of(const Status &status);

  Status status() const;
  std::string frame() const;
  static Fault read(FrameReader &frame);
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_FAULT_H

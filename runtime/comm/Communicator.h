//===- Communicator.h - Collectives and sends between ranks -----*- C++ -*-===//
//
// What it is: how ranks exchange contiguous memory. One Communicator a rank;
// its Groups are the ranks that differ along given mesh axes, ordered by
// their position over them. All calls are made *inside* work that a stream
// runs (Device::enqueue) and return when the caller's part is done; they
// block only in ways that watch for a fault: an abort, a dead peer or a
// deadline ends them with a Status, never a hang.
//
//   n ranks, pieces of `bytes`:
//     allReduce      in [count]        -> out [count], sum in a tree of ranks
//     reduceScatter  in [n][count]     -> out [count], the sum of piece i of
//                                         every rank, in such a tree
//     allGather      in [bytes]        -> out [n][bytes]
//     allToAll       in [n][bytes]     -> out [n][bytes]: piece i to rank i
//     permute        in [bytes] to one rank, out [bytes] from another
//     broadcast      from the rank at position `root`, in place
//
// Order: matching is by (group, channel, sequence number), never by arrival.
// A channel is a stream's number below `maxChannels`; all ranks of a group
// issue the same calls in the same order on a channel, and one thread at a
// time uses a channel. Transfers between two ranks match by (sender, receiver,
// lane, sequence number), whatever channels they are on; one end of a lane
// stays on one channel. Calls that do not agree in operation, bytes, type,
// kind or root end the world with a Status that shows both. allReduce is
// reduceScatter in pieces of ceil(count / n) and then allGather, whatever
// carries it, so that `local` and `mpi` agree to the bit. Sums of F16 and BF16
// are formed in float and rounded once; F32 in float; integers exactly.
//
// `in` and `out` may be the same address where the sizes agree (allReduce,
// broadcast); otherwise they do not overlap. Workspace: see
// `workspaceBytes`, which the plan's arena provides.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_COMMUNICATOR_H
#define TANDEM_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/mesh/Rule.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tandem {

/// What a rank is doing, for the message of whoever waits for it. The strings
/// belong to the plan and outlive every call.
struct Activity {
  const char *instruction = ""; ///< `all_reduce #12`
  const char *location = "";    ///< MLIR location
};

/// The ranks that differ along some axes, as one of them sees it.
class Group {
public:
  virtual ~Group() = default;
  int64_t size() const { return static_cast<int64_t>(ranks.size()); }
  int64_t position() const { return position_; }
  const std::vector<int64_t> &members() const { return ranks; }

protected:
  std::vector<int64_t> ranks; ///< Global ranks by position.
  int64_t position_ = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// The group of `members` (global ranks in order; this rank is one). Made
  /// before the first step; every member makes it with the same list, in any
  /// order relative to other groups. The same list gives the same group.
  /// Refused where it is empty, repeats a rank or leaves this one out. Owned
  /// by the communicator.
  virtual Result<Group *> group(const std::vector<int64_t> &members) = 0;

  static constexpr int maxChannels = 16;
  static constexpr int maxLanes = 32;

  /// Workspace that allReduce of `count` elements may use: every rank's part
  /// of one piece. That of reduceScatter is the same with ranks * count.
  static int64_t allReduceWorkspaceBytes(DType dtype, int64_t count,
                                         int64_t ranks);

  virtual Status allReduce(Group &group, int channel, const void *in, void *out,
                           int64_t count, DType dtype, ReductionKind kind,
                           void *workspace) = 0;
  virtual Status reduceScatter(Group &group, int channel, const void *in,
                               void *out, int64_t count, DType dtype,
                               ReductionKind kind, void *workspace) = 0;
  virtual Status allGather(Group &group, int channel, const void *in, void *out,
                           int64_t bytes) = 0;
  virtual Status allToAll(Group &group, int channel, const void *in, void *out,
                          int64_t bytes) = 0;
  /// Every rank of the group calls it. -1 stands for nobody: without a
  /// destination `in` is not read, without a source `out` is filled with
  /// zeros.
  virtual Status permute(Group &group, int channel, const void *in,
                         int64_t toPosition, void *out, int64_t fromPosition,
                         int64_t bytes) = 0;
  virtual Status broadcast(Group &group, int channel, void *data, int64_t bytes,
                           int64_t root) = 0;
  /// Rendezvous: returns when `to` has received.
  virtual Status send(int64_t to, int channel, const void *data, int64_t bytes,
                      int lane = 0) = 0;
  virtual Status receive(int64_t from, int channel, void *data, int64_t bytes,
                         int lane = 0) = 0;

  /// Says what this rank starts to do on `channel`; read by peers when
  /// something goes wrong. Costs a store.
  virtual void begin(int channel, const Activity &activity) = 0;

  /// Tells all ranks that this one cannot go on: every wait anywhere returns
  /// a Status that names the cause. Callable from any thread.
  virtual void abort(const Status &cause) = 0;
  /// The fault that ended this world, OK while there is none.
  virtual Status fault() const = 0;
};

/// `ranks` communicators of one process, one for each rank's thread.
/// `deadlineSeconds` bounds how long a wait lasts while the peer lives.
std::vector<std::unique_ptr<Communicator>>
createLocalCommunicators(int64_t ranks, double deadlineSeconds);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_COMMUNICATOR_H

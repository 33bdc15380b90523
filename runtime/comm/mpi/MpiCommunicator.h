//===- MpiCommunicator.h - Collectives between processes --------*- C++ -*-===//
//
// One rank's Communicator over nonblocking messages: the order of sums and
// the pieces are those of Communicator.h, so that the bits are `local`'s.
// Messages of an all-reduce of n ranks: each sends piece i to rank i, adds
// what it got in a tree of ranks, and sends its sum to all.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H
#define TANDEM_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

#include "runtime/comm/mpi/Exchange.h"
#include "runtime/comm/mpi/Tags.h"

#include <map>

namespace tandem {

class MpiCommunicator final : public Communicator {
public:
  /// `link` outlives the communicator.
  explicit MpiCommunicator(MpiLink &link);
  ~MpiCommunicator() override;

  int64_t rank() const override { return link.world.rank; }
  int64_t size() const override { return link.world.size; }
  Result<Group *> group(const std::vector<int64_t> &members) override;

  Status allReduce(Group &group, int channel, const void *in, void *out,
                   int64_t count, DType dtype, ReductionKind kind,
                   void *workspace) override;
  Status reduceScatter(Group &group, int channel, const void *in, void *out,
                       int64_t count, DType dtype, ReductionKind kind,
                       void *workspace) override;
  Status allGather(Group &group, int channel, const void *in, void *out,
                   int64_t bytes) override;
  Status allToAll(Group &group, int channel, const void *in, void *out,
                  int64_t bytes) override;
  Status permute(Group &group, int channel, const void *in, int64_t toPosition,
                 void *out, int64_t fromPosition, int64_t bytes) override;
  Status broadcast(Group &group, int channel, void *data, int64_t bytes,
                   int64_t root) override;
  Status send(int64_t to, int channel, const void *data, int64_t bytes,
              int lane) override;
  Status receive(int64_t from, int channel, void *data, int64_t bytes,
                 int lane) override;

  void begin(int channel, const Activity &activity) override;
  void abort(const Status &cause) override { link.plane.abort(cause); }
  Status fault() const override { return link.plane.fault(); }

  // Bytes of any number, on the channel of set-up, where no deadline holds.
  // One thread of all ranks calls these in the same order.
  Status broadcastBytes(std::string &bytes, int64_t root);
  /// By rank on `root`; empty elsewhere.
  Result<std::vector<std::string>> gatherBytes(const std::string &bytes,
                                               int64_t root);
  /// Returns when all ranks have called it.
  Status meet();

private:
  class MpiGroup;
  /// A buffer of n pieces of `stride` bytes, of which piece i holds
  /// `bytes(i)`: the last ones may be short or empty.
  struct Pieces {
    int64_t total, stride;
    int64_t bytes(int64_t i) const;
  };
  Status check(int channel, int64_t amount) const;
  int32_t enter(MpiGroup &group, int channel, const Call &call);
  int32_t enterPair(int64_t peer, int channel, int lane, const Call &call);
  Status sendBytes(int64_t to, const std::string &bytes);
  Result<std::string> receiveBytes(int64_t from);
  Status scatterSum(MpiGroup &group, int channel, const Call &call,
                    const void *in, void *out, Pieces pieces, void *workspace);
  Status swapSum(MpiGroup &group, int channel, const Call &call, const void *in,
                 void *out, void *workspace);
  Status gatherPieces(MpiGroup &group, int channel, const Call &call, void *out,
                      Pieces pieces);
  Status checkPeer(int64_t peer, const char *what) const;

  MpiLink &link;
  TagLayout tags;
  std::vector<Exchange> exchanges; ///< By channel.
  std::mutex groupsMutex;
  std::map<std::vector<int64_t>, std::unique_ptr<MpiGroup>> groups;
  /// By peer and channel: how many messages went each way.
  std::vector<uint32_t> sent, received;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MPI_MPICOMMUNICATOR_H

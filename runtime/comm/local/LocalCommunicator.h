//===- LocalCommunicator.h - Ranks that are threads -------------*- C++ -*-===//
//
// Collectives by shared memory: ranks read each other's buffers in place.
// Each call stands in a file of its own (AllReduce.cpp, AllGather.cpp, ...);
// how ranks meet is in Meeting.h, how faults end every wait in World.h.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H
#define TANDEM_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H

#include "runtime/comm/local/Mailbox.h"
#include "runtime/comm/local/Meeting.h"

#include <array>

namespace tandem {

class LocalGroup final : public Group {
public:
  LocalGroup(World &world, const std::vector<int64_t> &members,
             int64_t position);

  /// This rank's side of the group on a channel; one thread uses a channel.
  Place &place(int channel);

private:
  World &world;
  std::array<std::unique_ptr<Place>, Communicator::maxChannels> places;
};

class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator(std::shared_ptr<World> world, int64_t rank);

  int64_t rank() const override { return self; }
  int64_t size() const override { return world->size(); }
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
  void abort(const Status &cause) override { world->abort(cause, self); }
  Status fault() const override { return world->fault(); }

private:
  /// This rank's side of a call of `bytes`; refused where channel or bytes
  /// cannot be.
  Result<Place *> placeOf(Group &group, int channel, int64_t bytes) const;
  Status checkPeer(int64_t peer, int channel, int lane) const;

  std::shared_ptr<World> world;
  const int64_t self;
  std::mutex groupsMutex; ///< Guards `groups`.
  std::map<std::vector<int64_t>, std::unique_ptr<LocalGroup>> groups;
  /// [peer][channel]; a channel's are looked up by its own thread alone.
  std::vector<Mailbox *> outboxes, inboxes;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_LOCAL_LOCALCOMMUNICATOR_H

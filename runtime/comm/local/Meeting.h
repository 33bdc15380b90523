//===- Meeting.h - Where the ranks of a group meet --------------*- C++ -*-===//
//
// One Meeting for each (group, channel), shared; one Place a rank, its own
// side of it. A call posts what it is and where its memory lies, then meets:
//
//   place.meet(call, in, out)   all have posted, all posts agree
//   ... read in and out of the peers, as place.read() allows ...
//   place.barrier()             all have read: buffers are the caller's again
//
// Small values take a short cut: they are copied to the rank's *stage*, which
// belongs to the meeting, so that nobody need wait until they were read:
//
//   place.putOnStage(in, bytes); place.meet(call, ...);
//   read place.stageOf(i)
//
// Posts and stages are double: whoever writes them for call k + 2 has met all
// others in call k + 1, so all have finished reading those of call k.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_LOCAL_MEETING_H
#define TANDEM_RUNTIME_COMM_LOCAL_MEETING_H

#include "runtime/comm/Call.h"
#include "runtime/comm/local/World.h"

#include <cstring>

namespace tandem {

/// What a rank brings to a call.
struct alignas(64) Post {
  Call call;
  const std::byte *in = nullptr;
  std::byte *out = nullptr;
  // The positions that a permute sends to and hears from, -1 for none.
  int32_t to = -1, from = -1;
};

class Meeting {
public:
  /// What one rank may stage.
  static constexpr int64_t stageBytes = 16 << 10;

  Meeting(const std::vector<int64_t> &members, int channel);

private:
  friend class Place;
  friend class World;

  struct alignas(64) Seat {
    Post posts[2];
    /// Barriers that this rank has come to, for the message of who waits.
    alignas(64) std::atomic<uint32_t> came{0};
    Reading reading;
  };

  const std::vector<int64_t> members;
  const int channel;
  std::vector<Seat> seats;
  std::vector<std::byte> stages; ///< [position][2][stageBytes]
  /// Counts arrivals at barriers, all of them, modulo 2^31: barrier k is
  /// passed when it reaches (k + 1) * members.
  alignas(64) WaitWord arrivals;
};

class Place {
public:
  Place(World &world, Meeting &meeting, int64_t position);

  int64_t size() const { return ranks; }
  int64_t position() const { return self; }

  /// Posts, waits until all members have, and compares their calls. `to` and
  /// `from` are for permute.
  Status meet(const Call &call, const void *in, void *out, int64_t to = -1,
              int64_t from = -1);
  /// What the rank at `position` posted for the call that met last.
  const Post &post(int64_t position) const {
    return meeting.seats[position].posts[latest];
  }

  /// Whether `bytes` from every rank go by the stages.
  bool isStaged(int64_t bytes) const {
    return bytes <= Meeting::stageBytes &&
           bytes * ranks <= 4 * Meeting::stageBytes;
  }
  /// Copies to this rank's stage, for the call that will meet next.
  void putOnStage(const void *data, int64_t bytes) {
    if (bytes > 0)
      std::memcpy(stageAt(self, latest ^ 1u), data, bytes);
  }
  /// The stage of a rank in the call that met last.
  const std::byte *stageOf(int64_t position) {
    return stageAt(position, latest);
  }

  /// Runs `body`, which reads memory that peers posted, unless the world has
  /// ended.
  template <typename Body> Status read(const Body &body) {
    Reading &reading = meeting.seats[self].reading;
    if (!reading.begin(world))
      return leave();
    body();
    reading.end();
    return Status();
  }

  /// Waits until all members are here.
  Status barrier();
  /// Ends the world because this call is wrong; returns the world's fault.
  Status fail(const Status &cause);

  /// Room for one address a rank.
  std::vector<const void *> addresses;

private:
  /// The world has ended: waits until no peer reads this rank's memory.
  Status leave();
  int64_t whoIsMissing() const;
  std::byte *stageAt(int64_t position, uint32_t half) {
    return meeting.stages.data() + (position * 2 + half) * Meeting::stageBytes;
  }

  World &world;
  Meeting &meeting;
  const int64_t ranks;
  const int64_t self;
  uint32_t barriers = 0; ///< Passed by this rank.
  uint32_t latest = 0;   ///< Which posts and stages the last call used.
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_LOCAL_MEETING_H

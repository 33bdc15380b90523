//===- ActivityTable.h - What a rank is doing, for others -------*- C++ -*-===//
//
// What it is: one row a channel (a stream's number) that the stream's thread
// writes with plain stores and the control thread reads. The writer reads no
// clock: it counts, and the reader notes when a count last changed.
//
//   `progress` moves with every instruction that begins and every message
//   that arrives; a wait in which it stands still is getting long.
//   `polls` moves while a wait is polled; where it stands still too, the
//   thread itself does not run.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_ACTIVITYTABLE_H
#define TANDEM_RUNTIME_COMM_CONTROL_ACTIVITYTABLE_H

#include "runtime/comm/Call.h"
#include "runtime/comm/Communicator.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace tandem {

/// Which call of which ranks a channel is in: two ranks with one group and
/// sequence number must have made the same call.
struct Meeting {
  uint64_t group = 0; ///< A hash of the ranks, in order.
  uint32_t sequence = 0;
  Call call;

  bool sameAs(const Meeting &other) const {
    return group == other.group && sequence == other.sequence;
  }
};

/// A Meeting that one thread writes while another may read: a reader that
/// comes in between sees a mixture, so it is believed only once the channel
/// has stood still for a while.
class SharedMeeting {
public:
  void store(const Meeting &meeting) {
    const Call &call = meeting.call;
    uint64_t what = static_cast<uint64_t>(call.kind) << 24 |
                    static_cast<uint64_t>(call.dtype) << 16 |
                    static_cast<uint64_t>(call.reduction) << 8;
    group.store(meeting.group, std::memory_order_relaxed);
    order.store(static_cast<uint64_t>(meeting.sequence) << 32 | what,
                std::memory_order_relaxed);
    root.store(call.root, std::memory_order_relaxed);
    bytes.store(call.bytes, std::memory_order_relaxed);
  }
  Meeting load() const {
    uint64_t word = order.load(std::memory_order_relaxed);
    Meeting meeting;
    meeting.group = group.load(std::memory_order_relaxed);
    meeting.sequence = static_cast<uint32_t>(word >> 32);
    meeting.call.kind = static_cast<CallKind>(word >> 24 & 0xff);
    meeting.call.dtype = static_cast<DType>(word >> 16 & 0xff);
    meeting.call.reduction = static_cast<ReductionKind>(word >> 8 & 0xff);
    meeting.call.root = root.load(std::memory_order_relaxed);
    meeting.call.bytes = bytes.load(std::memory_order_relaxed);
    return meeting;
  }

private:
  std::atomic<uint64_t> group{0}, order{0};
  std::atomic<int32_t> root{0};
  std::atomic<int64_t> bytes{0};
};

/// One channel's row. One thread writes, any reads.
struct alignas(64) ChannelActivity {
  std::atomic<const char *> instruction{""};
  std::atomic<const char *> location{""};
  std::atomic<uint64_t> progress{0};
  std::atomic<uint64_t> polls{0};
  /// The rank whose message this channel waits for, -1 while it waits for
  /// none.
  std::atomic<int64_t> waitingFor{-1};
  SharedMeeting meeting;

  void begin(const Activity &activity) {
    instruction.store(activity.instruction, std::memory_order_relaxed);
    location.store(activity.location, std::memory_order_relaxed);
    advance();
  }
  void enter(const Meeting &entered) {
    meeting.store(entered);
    advance();
  }
  void waitFor(int64_t peer) {
    waitingFor.store(peer, std::memory_order_relaxed);
  }
  // Only one thread at a time writes, so that no locked add is needed.
  void advance() { bump(progress); }
  void polled() { bump(polls); }

private:
  static void bump(std::atomic<uint64_t> &count) {
    count.store(count.load(std::memory_order_relaxed) + 1,
                std::memory_order_release);
  }
};

class ActivityTable {
public:
  /// What runs before and after steps: options, the plan, results. Its waits
  /// may be as long as a compilation, so that no deadline holds for it unless
  /// `setUpHasDeadline`.
  static constexpr int setUp = Communicator::maxChannels;
  static constexpr int channels = setUp + 1;

  std::atomic<bool> setUpHasDeadline{false};

  ChannelActivity &operator[](int channel) { return rows[channel]; }
  const ChannelActivity &operator[](int channel) const { return rows[channel]; }

  /// The strings given to `begin` are about to go.
  void forget() {
    std::lock_guard<std::mutex> lock(strings);
    for (ChannelActivity &row : rows) {
      row.instruction.store("");
      row.location.store("");
    }
  }
  /// Held while strings are copied; never by a thread that waits for peers.
  mutable std::mutex strings;

private:
  std::array<ChannelActivity, channels> rows;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_ACTIVITYTABLE_H

//===- ActivityTable.h - What a rank is doing, readable by others -*- C++
//-*-===//
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

#include "runtime/comm/Communicator.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace tandem {

/// One channel's row. One thread writes, any reads.
struct alignas(64) ChannelActivity {
  std::atomic<const char *> instruction{""};
  std::atomic<const char *> location{""};
  std::atomic<uint64_t> progress{0};
  std::atomic<uint64_t> polls{0};
  /// The rank whose message this channel waits for, -1 while it waits for
  /// none.
  std::atomic<int64_t> waitingFor{-1};

  void begin(const Activity &activity) {
    instruction.store(activity.instruction, std::memory_order_relaxed);
    location.store(activity.location, std::memory_order_relaxed);
    advance();
  }
  void waitFor(int64_t peer) {
    waitingFor.store(peer, std::memory_order_relaxed);
  }
  // Only the channel's own thread writes, so that no locked add is needed.
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
  /// Channels of plans are 0 to `setUp` - 1.
  static constexpr int channels = 32;
  /// What runs before and after steps: options, the plan, results. Its waits
  /// may be as long as a compilation, so that no deadline holds for it.
  static constexpr int setUp = channels - 1;

  ChannelActivity &operator[](int channel) { return rows[channel]; }
  const ChannelActivity &operator[](int channel) const { return rows[channel]; }

private:
  std::array<ChannelActivity, channels> rows;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_ACTIVITYTABLE_H

//===- ActivityBoard.h - What each rank is doing ----------------*- C++ -*-===//
//
// Ranks write what they begin, one row a rank and channel; whoever gives up
// waiting for a rank reads its rows for the message.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_LOCAL_ACTIVITYBOARD_H
#define TANDEM_RUNTIME_COMM_LOCAL_ACTIVITYBOARD_H

#include "runtime/comm/Communicator.h"

#include <atomic>
#include <string>
#include <vector>

namespace tandem {

class ActivityBoard {
public:
  explicit ActivityBoard(int64_t ranks) : rows(ranks) {}

  void begin(int64_t rank, int channel, const Activity &activity) {
    Row &row = rows[rank];
    row.cells[channel].location.store(activity.location,
                                      std::memory_order_relaxed);
    row.cells[channel].instruction.store(activity.instruction,
                                         std::memory_order_release);
    row.latest.store(channel, std::memory_order_relaxed);
  }

  /// Says which rank `rank` waits for on `channel`, -1 for none.
  void waitFor(int64_t rank, int channel, int64_t peer) {
    rows[rank].cells[channel].waitingFor.store(peer, std::memory_order_relaxed);
  }
  /// The rank that `rank` waits for: on `channel`, else on any; -1 for none.
  int64_t waitedFor(int64_t rank, int channel) const;

  Activity of(int64_t rank, int channel) const;
  /// What `rank` began last, on any channel.
  Activity latest(int64_t rank) const;
  /// `all_reduce #12 (mlp.down)`, where `rank` is on `channel`.
  std::string placeOf(int64_t rank, int channel) const;
  /// `is at all_reduce #12 (mlp.down)`; two places where the rank's last
  /// beginning was on another channel.
  std::string describe(int64_t rank, int channel) const;

private:
  struct Cell {
    std::atomic<const char *> instruction{""};
    std::atomic<const char *> location{""};
    std::atomic<int64_t> waitingFor{-1};
  };
  struct alignas(64) Row {
    Cell cells[Communicator::maxChannels];
    std::atomic<int> latest{0};
  };
  std::vector<Row> rows;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_LOCAL_ACTIVITYBOARD_H

//===- RankState.h - What a rank does, with how long it has -----*- C++ -*-===//
//
// The activity table as the control thread sees it: counts have become times.
// It is what heartbeats and answers carry.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_RANKSTATE_H
#define TANDEM_RUNTIME_COMM_CONTROL_RANKSTATE_H

#include "runtime/comm/control/ActivityTable.h"
#include "runtime/comm/control/Frame.h"

#include <chrono>
#include <vector>

namespace tandem {

/// One channel that has done something. Times are in seconds.
struct ChannelState {
  int32_t channel = 0;
  std::string instruction, location;
  int64_t waitingFor = -1; ///< A rank, or -1.
  double still = 0;        ///< Since an instruction began or data came.
  double unpolled = 0;     ///< Since the thread was seen to run, in a wait.
  Meeting meeting;

  bool waits() const { return waitingFor >= 0; }
  /// `all_reduce #12 (layers.3.mlp)`
  std::string place() const;
};

struct RankState {
  std::vector<ChannelState> channels;

  const ChannelState *find(int channel) const;
  /// The channel to name when only one can be: the one that waits longest,
  /// else the one that moved last; null before anything began.
  const ChannelState *foremost() const;
  /// The instruction that it was at last, of any stream; null before the
  /// first.
  const ChannelState *instruction() const;
  /// `foremost`, or the last instruction where that is no instruction.
  const ChannelState *place() const;
  /// `rank 3 was at recv #4 (layers.2), waiting for rank 1`; between steps
  /// `rank 3 was at order, waiting for rank 0, after send #9 (layers.2)`
  std::string describe(int64_t rank, const char *verb) const;

  void write(FrameWriter &frame) const;
  static RankState read(FrameReader &frame);
};

/// Notes when the counts of a table last moved.
class ActivitySampler {
public:
  using Clock = std::chrono::steady_clock;

  explicit ActivitySampler(const ActivityTable &table) : table(table) {}
  /// The table as of `now`; times are exact to the interval between calls.
  RankState sample(Clock::time_point now);

private:
  struct Seen {
    uint64_t progress = 0, polls = 0;
    Clock::time_point moved, polled;
  };
  const ActivityTable &table;
  std::array<Seen, ActivityTable::channels> seen{};
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_RANKSTATE_H

//===- World.h - What the ranks of one process share ------------*- C++ -*-===//
//
// The meeting points of groups and pairs, what each rank is doing, and the
// fault that ends it all. Every wait of `local` goes through `await`, which
// watches for the fault and for the deadline; whoever finds one tells all.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_LOCAL_WORLD_H
#define TANDEM_RUNTIME_COMM_LOCAL_WORLD_H

#include "runtime/comm/local/ActivityBoard.h"
#include "runtime/device/WaitWord.h"

#include <map>
#include <mutex>

namespace tandem {

class Mailbox;
class Meeting;

class World {
public:
  World(int64_t ranks, double deadlineSeconds);
  ~World();

  int64_t size() const { return ranks; }
  ActivityBoard &activities() { return board; }

  /// Made by whoever comes first; live as long as the world.
  Meeting &meeting(const std::vector<int64_t> &members, int channel);
  Mailbox &mailbox(int64_t from, int64_t to, int lane);

  bool ended() const { return over.load(std::memory_order_seq_cst); }
  Status fault() const;
  /// Keeps the first cause (not OK) and wakes everybody. Fills in rank and
  /// instruction where the cause has none.
  void abort(Status cause, int64_t rank);

  /// Waits until `done(word)`. False: the world has ended, perhaps because
  /// this wait lasted longer than the deadline; `missing()` names the rank
  /// that has not come.
  template <typename Done, typename Missing>
  bool await(WaitWord &word, int64_t rank, int channel, const Done &done,
             const Missing &missing) {
    Patience patience;
    bool came = word.wait(done, [&] {
      if (ended())
        return true;
      board.waitFor(rank, channel, missing());
      if (!exhausted(patience))
        return false;
      stalled(rank, channel, missing());
      return true;
    });
    if (patience.started)
      board.waitFor(rank, channel, -1);
    return came;
  }

private:
  struct Patience {
    std::chrono::steady_clock::time_point start{};
    bool started = false;
  };
  bool exhausted(Patience &patience) const;
  void stalled(int64_t rank, int channel, int64_t peer);

  const int64_t ranks;
  const double deadlineSeconds;
  ActivityBoard board;
  std::atomic<bool> over{false};
  mutable std::mutex mutex; ///< Guards all below.
  Status first;
  std::map<std::pair<std::vector<int64_t>, int>, std::unique_ptr<Meeting>>
      meetings;
  std::map<std::vector<int64_t>, std::unique_ptr<Mailbox>> mailboxes;
};

/// Says that a rank reads memory of its peers right now. A rank that leaves a
/// call because the world has ended waits for these first: its buffers may be
/// gone soon after.
class Reading {
public:
  /// False when the world has ended: nothing may be read any more.
  bool begin(const World &world) {
    active.store(true, std::memory_order_seq_cst);
    if (!world.ended())
      return true;
    end();
    return false;
  }
  void end() { active.store(false, std::memory_order_release); }
  void awaitEnd() const;

private:
  // begin() stores this and then loads World::over; who leaves has loaded
  // `over` and then loads this: in sequential consistency one of them sees
  // the other.
  std::atomic<bool> active{false};
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_LOCAL_WORLD_H

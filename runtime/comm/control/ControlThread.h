//===- ControlThread.h - The two clocks and the flood -----------*- C++ -*-===//
//
// The state and the loop of the thread behind ControlPlane. All but the
// members that say otherwise belong to that thread alone.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_CONTROLTHREAD_H
#define TANDEM_RUNTIME_COMM_CONTROL_CONTROLTHREAD_H

#include "runtime/comm/control/Connection.h"
#include "runtime/comm/control/ControlPlane.h"
#include "runtime/comm/control/Inquiry.h"
#include "runtime/comm/control/Signals.h"
#include "runtime/comm/control/Verdict.h"

#include <set>
#include <thread>
#include <tuple>

namespace tandem {

class ControlThread {
public:
  using Clock = std::chrono::steady_clock;

  ControlThread(int64_t rank, const ControlOptions &options,
                const ActivityTable &table, Verdict &verdict,
                std::vector<std::unique_ptr<Connection>> connections);
  ~ControlThread();

  void start();
  bool isRunning() const { return thread.joinable(); }
  /// Ends the loop; sends every neighbour `farewell`, its last frame.
  void stop(const std::string &farewell);
  /// Any thread: a request waits in the verdict.
  void wake();
  /// Called in the control thread when SIGTERM came and no fault was its
  /// cause; without it the world ends as interrupted. Before `start`.
  std::function<void()> onTerminate;

private:
  void run();
  void pollOnce();
  void noteLateness();
  void readFrom(Connection &connection);
  void take(Connection &from, FrameKind kind, FrameReader &frame);
  void takeQuestion(Connection &from, FrameReader &frame);
  void takeAnswer(Connection &from, FrameReader &frame);
  void takeCrash(Connection &from, FrameReader &frame);
  void lost(Connection &connection);

  void tick();
  void beat();
  void checkSilence();
  void checkWaits();
  bool isPatient(const ChannelState &wait) const;
  void checkTermination();
  void compare(const ChannelState &wait);
  void checkInquiry();
  void ask(int64_t target);

  Fault located(Fault fault);
  std::optional<Fault> judge(int64_t responder, const RankState &answer);
  bool passedBefore(FrameKind kind, int64_t origin, uint64_t number);
  void send(int64_t to, const std::string &frame);
  void flood(const std::string &frame, const Connection *except);
  void declare(const Fault &fault, const Connection *from = nullptr);
  [[noreturn]] void leave(const Fault &fault);

  const int64_t rank;
  const ControlOptions options;
  const ActivityTable &table;
  Verdict &verdict;
  ActivitySampler sampler;
  RankState state; ///< This rank's, as last sampled.
  std::vector<std::unique_ptr<Connection>> connections;
  SignalBoard board;
  std::thread thread;
  std::atomic<bool> stopping{false};

  Clock::time_point now, nextTick, nextBeat, lastLoop;
  /// The loop ran late: this process was stopped, so that the others' silence
  /// says nothing about them.
  bool wasStopped = false;
  Clock::time_point terminatedAt;
  bool termination = false;

  std::optional<Inquiry> inquiry;
  Clock::time_point askedAt, nextCompare;
  uint64_t questions = 0; ///< The number of the last one.
  int comparing = -1;     ///< The channel compared with its peer's.
  /// Questions and answers that have passed here: kind, origin, number.
  std::set<std::tuple<FrameKind, int64_t, uint64_t>> passed;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_CONTROLTHREAD_H

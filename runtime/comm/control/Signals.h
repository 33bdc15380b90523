//===- Signals.h - What signals may touch of the control plane --*- C++ -*-===//
//
// What it is: the plain words that a signal handler reads, and the handlers.
//
//   SIGTERM   a hint: mpirun sends it when any rank dies. The control thread
//             waits a moment for the cause; without one it is an order to end
//   SIGCONT   a process that runs again after it was stopped: when its peers
//             have meanwhile left, it leaves too, before it can write
//   a crash   the peers are told the handler's line
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_SIGNALS_H
#define TANDEM_RUNTIME_COMM_CONTROL_SIGNALS_H

#include <array>
#include <atomic>
#include <cstdint>

namespace tandem {

struct SignalBoard {
  SignalBoard();

  /// When the control thread's loop last ran, in nanoseconds of
  /// CLOCK_MONOTONIC.
  std::atomic<int64_t> lastLoop{0};
  /// The loop never pauses for longer while the process runs.
  int64_t longestPause = 1500000000;
  std::atomic<bool> terminated{false};
  int wakeUp = -1; ///< An eventfd that ends the loop's poll.
  /// Sockets of the neighbours, -1 where there is none (any more).
  std::array<std::atomic<int>, 128> sockets;
};

int64_t monotonicNanoseconds();

/// While `starts`, until there is a board, SIGTERM, or an exit that MPI calls,
/// means that another rank was lost: one line, and the process leaves with 3.
void setStarting(bool starts);

/// Makes `board` the process's, handles SIGTERM and SIGCONT, and ignores
/// SIGPIPE; null takes it back, and the signals mean what they always do.
void setSignalBoard(SignalBoard *board);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_SIGNALS_H

#include "runtime/comm/control/Signals.h"

#include "runtime/comm/control/CrashHandler.h"
#include "runtime/comm/control/Frame.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tandem {
namespace {

std::atomic<SignalBoard *> current{nullptr};

bool hungUp(int socket) {
  pollfd wanted{socket, POLLRDHUP, 0};
  return poll(&wanted, 1, 0) > 0 &&
         (wanted.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/// Whether this process was stopped for so long that its peers gave it up,
/// and they did.
bool leftBehind(SignalBoard &board) {
  if (monotonicNanoseconds() - board.lastLoop.load() < board.longestPause)
    return false;
  for (std::atomic<int> &socket : board.sockets)
    if (socket.load() >= 0 && hungUp(socket.load()))
      return true;
  return false;
}

void onSignal(int signal) {
  int saved = errno;
  if (SignalBoard *board = current.load()) {
    if (leftBehind(*board))
      _exit(3);
    if (signal == SIGTERM) {
      board->terminated.store(true);
      uint64_t one = 1;
      [[maybe_unused]] ssize_t written =
          ::write(board->wakeUp, &one, sizeof one);
    }
  }
  errno = saved;
}

/// A Crash frame, built without allocation.
void tellCrash(const char *line, size_t bytes) {
  SignalBoard *board = current.load();
  if (!board)
    return;
  char frame[2048];
  auto text = static_cast<uint32_t>(
      bytes < sizeof frame - 64 ? bytes : sizeof frame - 64);
  auto length = static_cast<uint32_t>(1 + sizeof text + text);
  std::memcpy(frame, &length, sizeof length);
  frame[sizeof length] = static_cast<char>(FrameKind::Crash);
  std::memcpy(frame + frameHeader, &text, sizeof text);
  std::memcpy(frame + frameHeader + sizeof text, line, text);
  for (std::atomic<int> &socket : board->sockets)
    if (socket.load() >= 0)
      send(socket.load(), frame, sizeof length + length,
           MSG_NOSIGNAL | MSG_DONTWAIT);
}

void handle(int signal) {
  struct sigaction action{};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

} // namespace

SignalBoard::SignalBoard() {
  for (std::atomic<int> &socket : sockets)
    socket.store(-1);
}

int64_t monotonicNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void setSignalBoard(SignalBoard *board) {
  current.store(board);
  setCrashListener(board ? tellCrash : nullptr);
  if (!board)
    return;
  handle(SIGTERM);
  handle(SIGCONT);
  // MPI writes to sockets of peers that may have died: that must not kill
  // this process before it could say whose fault it is.
  struct sigaction pipe{};
  if (sigaction(SIGPIPE, nullptr, &pipe) == 0 && pipe.sa_handler == SIG_DFL)
    signal(SIGPIPE, SIG_IGN);
}

} // namespace tandem

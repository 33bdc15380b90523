#include "runtime/comm/control/Signals.h"

#include "runtime/comm/control/CrashHandler.h"
#include "runtime/comm/control/Frame.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tandem {
namespace {

std::atomic<SignalBoard *> current{nullptr};
std::atomic<bool> starting{false};

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

[[noreturn]] void leaveStart(const char *who) {
  for (const char *text :
       {"tandem: error: ", who,
        " before all ranks had found each other: another one has failed, or "
        "the run was cancelled\n"}) {
    [[maybe_unused]] ssize_t written = ::write(2, text, strlen(text));
  }
  _exit(3);
}

/// MPI, which loses its launcher or cannot start, calls exit.
void onExit() {
  if (starting.load())
    leaveStart("MPI ended this rank");
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
  if (signal == SIGTERM && !current.load() && starting.load())
    leaveStart("the launcher ended this rank (SIGTERM)");
  errno = saved;
}

/// A Crash frame, built without allocation.
class CrashFrame {
public:
  explicit CrashFrame(const CrashReport &report) {
    for (const char *text : {report.cause, report.instruction, report.location})
      put(text);
    auto length = static_cast<uint32_t>(size - sizeof(uint32_t));
    std::memcpy(frame, &length, sizeof length);
    frame[sizeof length] = static_cast<char>(FrameKind::Crash);
  }
  void sendTo(int socket) const {
    send(socket, frame, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

private:
  /// Each text has a third of the room.
  void put(const char *text) {
    auto length = static_cast<uint32_t>(strnlen(text, 1000));
    std::memcpy(frame + size, &length, sizeof length);
    std::memcpy(frame + size + sizeof length, text, length);
    size += sizeof length + length;
  }

  char frame[4096];
  size_t size = frameHeader;
};

void tellCrash(const CrashReport &report) {
  SignalBoard *board = current.load();
  if (!board)
    return;
  CrashFrame frame(report);
  for (std::atomic<int> &socket : board->sockets)
    if (socket.load() >= 0)
      frame.sendTo(socket.load());
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
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

void setStarting(bool starts) {
  [[maybe_unused]] static const int registered = std::atexit(onExit);
  starting.store(starts);
  if (!current.load())
    handle(SIGTERM, starts ? onSignal : SIG_DFL);
}

void setSignalBoard(SignalBoard *board) {
  current.store(board);
  setCrashListener(board ? tellCrash : nullptr);
  handle(SIGTERM, board ? onSignal : SIG_DFL);
  handle(SIGCONT, board ? onSignal : SIG_DFL);
  if (!board)
    return;
  // MPI writes to sockets of peers that may have died: that must not kill
  // this process before it could say whose fault it is.
  struct sigaction pipe{};
  if (sigaction(SIGPIPE, nullptr, &pipe) == 0 && pipe.sa_handler == SIG_DFL)
    signal(SIGPIPE, SIG_IGN);
}

} // namespace tandem

//===- Connection.h - One peer, over a socket that never blocks -*- C++ -*-===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_CONNECTION_H
#define TANDEM_RUNTIME_COMM_CONTROL_CONNECTION_H

#include "runtime/comm/control/Frame.h"
#include "runtime/comm/control/RankState.h"

#include <functional>

namespace tandem {

/// Frames to and from one peer, and what is known of it. Owns the socket.
class Connection {
public:
  using Clock = std::chrono::steady_clock;

  /// `socket` is connected and greeted.
  Connection(int64_t peer, int socket);
  ~Connection();
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  const int64_t peer;
  Clock::time_point lastHeard;
  RankState lastState;
  bool saidGoodbye = false;

  int socket() const { return fd; }
  bool isOpen() const { return fd >= 0; }
  bool hasUnsent() const { return !unsent.empty(); }

  /// Sends, or keeps what the socket does not take yet. Where much is kept
  /// already (the peer reads nothing), heartbeats are dropped.
  void send(const std::string &frame, bool droppable = false);
  void flush();
  /// Hands every frame that has come to `take`; false once the peer has
  /// closed or sends what is no frame.
  bool receive(const std::function<void(FrameKind, FrameReader &)> &take);
  /// No more frames to the peer; it sees the end after all that was sent.
  void shutdown();
  void close();

private:
  bool takeFrames(const std::function<void(FrameKind, FrameReader &)> &take);

  int fd;
  std::string unsent, inbox;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_CONNECTION_H

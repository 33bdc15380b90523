#include "runtime/comm/control/Connection.h"

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

namespace tandem {
namespace {

// A peer that is stopped takes no more than this many bytes of heartbeats.
constexpr size_t mostUnsent = 64 * 1024;

} // namespace

Connection::Connection(int64_t peer, int socket)
    : peer(peer), lastHeard(Clock::now()), fd(socket) {}

Connection::~Connection() { close(); }

void Connection::send(const std::string &frame, bool droppable) {
  if (!isOpen() || (droppable && unsent.size() > mostUnsent))
    return;
  unsent += frame;
  flush();
}

void Connection::flush() {
  while (isOpen() && !unsent.empty()) {
    ssize_t sent =
        ::send(fd, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0 && errno == EAGAIN)
      return;
    if (sent <= 0) {
      // The peer is gone; reading says so, with what it last sent.
      unsent.clear();
      return;
    }
    unsent.erase(0, static_cast<size_t>(sent));
  }
}

bool Connection::receive(
    const std::function<void(FrameKind, FrameReader &)> &take) {
  char buffer[16 * 1024];
  while (isOpen()) {
    ssize_t got = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return true;
    if (got <= 0)
      return false;
    lastHeard = Clock::now();
    inbox.append(buffer, static_cast<size_t>(got));
    if (!takeFrames(take))
      return false;
  }
  return false;
}

bool Connection::takeFrames(
    const std::function<void(FrameKind, FrameReader &)> &take) {
  size_t at = 0;
  while (inbox.size() - at >= frameHeader) {
    uint32_t length;
    std::memcpy(&length, inbox.data() + at, sizeof length);
    if (length < 1 || length > largestFrame)
      return false;
    if (inbox.size() - at < sizeof length + length)
      break;
    auto kind = static_cast<FrameKind>(inbox[at + sizeof length]);
    FrameReader fields(inbox.data() + at + frameHeader, length - 1);
    take(kind, fields);
    at += sizeof length + length;
  }
  inbox.erase(0, at);
  return true;
}

void Connection::shutdown() {
  if (isOpen())
    ::shutdown(fd, SHUT_WR);
}

void Connection::close() {
  if (isOpen())
    ::close(fd);
  fd = -1;
}

} // namespace tandem

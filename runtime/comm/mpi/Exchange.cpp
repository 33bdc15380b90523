#include "runtime/comm/mpi/Exchange.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <thread>

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// MPI counts bytes in an int.
constexpr int64_t largestMessage = int64_t(1) << 30;

/// How a wait passes the time between polls: the longer it lasts, the more it
/// leaves the core to others.
class Pace {
public:
  explicit Pace(bool spin) : spin(spin), start(Clock::now()) {}

  void pause() {
    auto waited = Clock::now() - start;
    if (spin && waited < microseconds(50))
      return;
    if (waited < microseconds(1000))
      sched_yield();
    else
      std::this_thread::sleep_for(microseconds(20));
  }

private:
  bool spin;
  Clock::time_point start;
};

} // namespace

void Exchange::receive(void *data, int64_t bytes, int64_t from, int32_t tag) {
  post(Kind::Receive, data, bytes, from, tag);
}

void Exchange::send(const void *data, int64_t bytes, int64_t to, int32_t tag) {
  post(Kind::Send, const_cast<void *>(data), bytes, to, tag);
}

void Exchange::sendMatched(const void *data, int64_t bytes, int64_t to,
                           int32_t tag) {
  post(Kind::SendMatched, const_cast<void *>(data), bytes, to, tag);
}

void Exchange::post(Kind kind, void *data, int64_t bytes, int64_t peer,
                    int32_t tag) {
  auto *at = static_cast<char *>(data);
  do {
    int64_t piece = std::min(bytes, largestMessage);
    postPiece(kind, at, static_cast<int32_t>(piece), peer, tag);
    at += piece, bytes -= piece;
  } while (bytes > 0);
}

void Exchange::postPiece(Kind kind, void *data, int32_t bytes, int64_t peer,
                         int32_t tag) {
  if (!failure.ok())
    return;
  Message message;
  message.peer = peer;
  message.bytes = bytes;
  message.receive = kind == Kind::Receive;
  auto to = static_cast<int32_t>(peer);
  int code = 0;
  {
    auto lock = link.calling();
    if (kind == Kind::Receive)
      code = link.table.receive(data, bytes, to, tag, &message.request);
    else if (kind == Kind::Send)
      code = link.table.send(data, bytes, to, tag, &message.request);
    else
      code = link.table.sendMatched(data, bytes, to, tag, &message.request);
  }
  if (code != 0)
    fail(message, code);
  else
    messages.push_back(message);
}

Status Exchange::wait() {
  Status result = failure.ok() ? waitForMessages() : settle();
  messages.clear();
  firstOpen = 0;
  failure = Status();
  return result;
}

Status Exchange::waitForMessages() {
  ChannelActivity &row = link.plane.activity()[channel];
  Pace pace(link.spin);
  while (true) {
    if (testAll())
      row.advance();
    if (!failure.ok())
      return settle();
    if (firstOpen == messages.size()) {
      row.waitFor(-1);
      return Status();
    }
    row.waitFor(messages[firstOpen].peer);
    row.polled();
    if (link.plane.faulted())
      return link.plane.surrender();
    pace.pause();
  }
}

/// Polls what is open; whether anything got done.
bool Exchange::testAll() {
  bool moved = false;
  for (size_t i = firstOpen; i < messages.size() && failure.ok(); ++i)
    if (!messages[i].done)
      moved |= test(messages[i]);
  while (firstOpen < messages.size() && messages[firstOpen].done)
    ++firstOpen;
  return moved;
}

bool Exchange::test(Message &message) {
  int32_t done = 0, bytes = 0;
  int code = 0;
  {
    auto lock = link.calling();
    code = link.table.test(&message.request, &done, &bytes);
  }
  if (code != 0)
    fail(message, code);
  else if (done && message.receive && bytes != message.bytes)
    failSize(message, bytes);
  message.done = done;
  return done;
}

void Exchange::fail(const Message &message, int code) {
  char text[256] = "";
  link.table.describe(code, text, sizeof text);
  failure = Status::rankFailed(
      std::string(message.receive ? "receiving " : "sending ") +
      std::to_string(message.bytes) + " bytes " +
      (message.receive ? "from" : "to") + " rank " +
      std::to_string(message.peer) + " failed: " + text);
}

void Exchange::failSize(const Message &message, int32_t got) {
  failure = Status::rankFailed("rank " + std::to_string(message.peer) +
                               " sent " + std::to_string(got) +
                               " bytes where " + std::to_string(message.bytes) +
                               " were expected: the ranks run different plans");
}

/// MPI's error is often the echo of a peer that died: its death, which the
/// control plane sees within moments, is the better cause.
Status Exchange::settle() {
  for (int i = 0; i < 500 && !link.plane.faulted(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  Status cause = failure;
  const ChannelActivity &row = link.plane.activity()[channel];
  cause.rank = link.world.rank;
  cause.instruction = row.instruction.load(std::memory_order_relaxed);
  cause.location = row.location.load(std::memory_order_relaxed);
  link.plane.abort(cause);
  return link.plane.surrender();
}

} // namespace tandem

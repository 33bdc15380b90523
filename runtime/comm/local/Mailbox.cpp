#include "runtime/comm/local/Mailbox.h"

#include "runtime/comm/Call.h"

#include <cstring>

namespace tandem {
namespace {

Call callOf(CallKind kind, int64_t bytes) {
  Call call;
  call.kind = kind;
  call.bytes = bytes;
  return call;
}

} // namespace

Status Mailbox::send(World &world, int64_t from, int64_t to, int channel,
                     const void *data, int64_t bytes) {
  if (world.ended())
    return world.fault();
  uint32_t number = ++sends;
  this->data = data;
  this->bytes = bytes;
  posted.set(number);
  bool received = world.await(
      taken, from, channel,
      [number](uint32_t now) { return WaitWord::reached(now, number); },
      [to] { return to; });
  if (received)
    return Status();
  reading.awaitEnd();
  return world.fault();
}

Status Mailbox::receive(World &world, int64_t from, int64_t to, int channel,
                        void *data, int64_t bytes) {
  if (world.ended())
    return world.fault();
  uint32_t number = ++receives;
  bool sent = world.await(
      posted, to, channel,
      [number](uint32_t now) { return WaitWord::reached(now, number); },
      [from] { return from; });
  if (!sent || !reading.begin(world))
    return world.fault();
  bool agrees = this->bytes == bytes;
  if (agrees && bytes > 0)
    std::memcpy(data, this->data, bytes);
  int64_t sentBytes = this->bytes;
  reading.end();
  if (!agrees) {
    world.abort(callsDiffer(to, callOf(CallKind::Receive, bytes), from,
                            callOf(CallKind::Send, sentBytes)),
                to);
    return world.fault();
  }
  taken.set(number);
  return Status();
}

void Mailbox::wake() {
  posted.wake();
  taken.wake();
}

} // namespace tandem

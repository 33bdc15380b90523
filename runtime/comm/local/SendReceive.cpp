//===- SendReceive.cpp - One rank hands memory to another -----------------===//

#include "runtime/comm/Members.h"
#include "runtime/comm/local/LocalCommunicator.h"

namespace tandem {

Status LocalCommunicator::checkPeer(int64_t peer, int channel, int lane) const {
  if (peer < 0 || peer >= size() || peer == self)
    return Status::refused(
        "rank " + std::to_string(self) + " cannot exchange with rank " +
        std::to_string(peer) + " of " + std::to_string(size()));
  TANDEM_TRY(checkLane(lane));
  return checkChannel(channel);
}

Status LocalCommunicator::send(int64_t to, int channel, const void *data,
                               int64_t bytes, int lane) {
  TANDEM_TRY(checkPeer(to, channel, lane));
  Mailbox *&box = outboxes[to * maxLanes + lane];
  if (!box)
    box = &world->mailbox(self, to, lane);
  return box->send(*world, self, to, channel, data, bytes);
}

Status LocalCommunicator::receive(int64_t from, int channel, void *data,
                                  int64_t bytes, int lane) {
  TANDEM_TRY(checkPeer(from, channel, lane));
  Mailbox *&box = inboxes[from * maxLanes + lane];
  if (!box)
    box = &world->mailbox(from, self, lane);
  return box->receive(*world, from, self, channel, data, bytes);
}

} // namespace tandem

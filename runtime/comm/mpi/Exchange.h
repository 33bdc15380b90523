//===- Exchange.h - Messages in flight on one channel -----------*- C++ -*-===//
//
// What it is: a set of messages posted together and waited for together. The
// wait polls; it ends when all are done or the world has failed, never later.
//
//   Exchange &messages = ...;             // the channel's
//   messages.receive(into, bytes, peer, tag);
//   messages.send(from, bytes, peer, tag);
//   return messages.wait();               // the first failure of the three
//
// One thread at a time uses an Exchange; different ones are independent.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_MPI_EXCHANGE_H
#define TANDEM_RUNTIME_COMM_MPI_EXCHANGE_H

#include "runtime/base/Status.h"
#include "runtime/comm/control/ControlPlane.h"
#include "runtime/comm/mpi/MpiAbi.h"

#include <mutex>
#include <vector>

namespace tandem {

/// MPI as one process's threads may call it, and who watches over its waits.
class MpiLink {
public:
  MpiLink(const TandemMpiTable &table, const TandemMpiWorld &world,
          ControlPlane &plane)
      : table(table), world(world), plane(plane) {}

  const TandemMpiTable &table;
  const TandemMpiWorld world;
  ControlPlane &plane;
  /// Whether the ranks of this machine leave cores to spin on.
  bool spin = false;

  /// Holds the lock around a call where MPI asks for it.
  std::unique_lock<std::mutex> calling() {
    return world.threadsMayCall ? std::unique_lock<std::mutex>()
                                : std::unique_lock<std::mutex>(mutex);
  }

private:
  std::mutex mutex;
};

class Exchange {
public:
  Exchange(MpiLink &link, int channel) : link(link), channel(channel) {}

  void receive(void *data, int64_t bytes, int64_t from, int32_t tag);
  void send(const void *data, int64_t bytes, int64_t to, int32_t tag);
  /// Done only once the peer has received.
  void sendMatched(const void *data, int64_t bytes, int64_t to, int32_t tag);
  /// Returns when everything posted is done, with the first failure.
  Status wait();

private:
  enum class Kind { Receive, Send, SendMatched };
  struct Message {
    TandemMpiRequest request{0};
    int64_t peer = 0;
    int32_t bytes = 0;
    bool receive = false;
    bool done = false;
  };
  void post(Kind kind, void *data, int64_t bytes, int64_t peer, int32_t tag);
  void postPiece(Kind kind, void *data, int32_t bytes, int64_t peer,
                 int32_t tag);
  bool test(Message &message);
  bool testAll();
  Status waitForMessages();
  void fail(const Message &message, int code);
  void failSize(const Message &message, int32_t got);
  Status settle();

  MpiLink &link;
  int channel;
  std::vector<Message> messages;
  size_t firstOpen = 0; ///< All messages before it are done.
  Status failure;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_MPI_EXCHANGE_H

//===- Mailbox.h - Where a sender and a receiver meet -----------*- C++ -*-===//
//
// One Mailbox for each (sender, receiver, lane). The sender posts where
// its memory lies and waits; the receiver copies it from there and says so.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_LOCAL_MAILBOX_H
#define TANDEM_RUNTIME_COMM_LOCAL_MAILBOX_H

#include "runtime/comm/local/World.h"

namespace tandem {

class Mailbox {
public:
  /// Called by the rank `from` alone.
  Status send(World &world, int64_t from, int64_t to, int channel,
              const void *data, int64_t bytes);
  /// Called by the rank `to` alone.
  Status receive(World &world, int64_t from, int64_t to, int channel,
                 void *data, int64_t bytes);
  void wake();

private:
  // The sender's line ...
  alignas(64) WaitWord posted;
  uint32_t sends = 0;
  const void *data = nullptr;
  int64_t bytes = 0;
  // ... and the receiver's.
  alignas(64) WaitWord taken;
  uint32_t receives = 0;
  Reading reading;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_LOCAL_MAILBOX_H

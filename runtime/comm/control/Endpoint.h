//===- Endpoint.h - Where processes listen and how they meet ----*- C++ -*-===//
//
// Each process opens a port; its address is the port, the addresses of its
// network interfaces, and what machine (and network namespace) it is on, so
// that neighbours on one machine use the loopback. A connection begins with
// the world's token, which rank 0 made, so that a stray one is dropped.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_ENDPOINT_H
#define TANDEM_RUNTIME_COMM_CONTROL_ENDPOINT_H

#include "runtime/base/Status.h"
#include "runtime/comm/control/Connection.h"

#include <memory>
#include <string>
#include <vector>

namespace tandem {

/// The ranks that `rank` is connected to, ascending: all others up to
/// `completeLimit` ranks, else those at distances 1, 2, 4, ... either way.
std::vector<int64_t> neighboursOf(int64_t rank, int64_t size,
                                  int64_t completeLimit);

struct EndpointAddress {
  std::string token;   ///< Of rank 0 only.
  std::string machine; ///< Equal for processes that share a loopback.
  uint16_t port = 0;
  std::vector<uint32_t> hosts; ///< IPv4, in network order.

  std::string pack() const;
  static Result<EndpointAddress> unpack(const std::string &bytes);
};

class Endpoint {
public:
  static Result<std::unique_ptr<Endpoint>> listen(int64_t rank);
  ~Endpoint();

  const EndpointAddress &address() const { return own; }
  /// Connections to all `neighbours`: the lower rank of a pair accepts.
  /// Fails after ten seconds with the rank that did not come.
  Result<std::vector<std::unique_ptr<Connection>>>
  meet(const std::vector<int64_t> &neighbours,
       const std::vector<EndpointAddress> &addresses);

private:
  Endpoint(int64_t rank, int listener) : rank(rank), listener(listener) {}
  Result<int> call(int64_t peer, const EndpointAddress &address);

  int64_t rank;
  int listener;
  EndpointAddress own;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_ENDPOINT_H

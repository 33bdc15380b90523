#include "runtime/comm/control/Endpoint.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <set>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t tokenBytes = 16;
constexpr std::chrono::seconds meetingTime{10};

int millisecondsUntil(Clock::time_point end) {
  auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

Status systemError(const std::string &what) {
  return Status::rankFailed("control plane: " + what + ": " +
                            std::strerror(errno));
}

std::string randomToken() {
  std::string token(tokenBytes, '\0');
  if (getrandom(token.data(), token.size(), 0) < 0)
    for (char &byte : token) // No secret, but different from world to world.
      byte = static_cast<char>(Clock::now().time_since_epoch().count());
  return token;
}

/// Names what shares this process's loopback: a host may hold several network
/// namespaces, and namespaces several host names.
std::string machineName() {
  char host[256] = "", space[64] = "";
  gethostname(host, sizeof host - 1);
  ssize_t length = readlink("/proc/self/ns/net", space, sizeof space - 1);
  return std::string(host) + "/" +
         std::string(space, length > 0 ? static_cast<size_t>(length) : 0);
}

std::vector<uint32_t> interfaceAddresses() {
  std::vector<uint32_t> hosts;
  ifaddrs *all = nullptr;
  if (getifaddrs(&all) != 0)
    return hosts;
  for (ifaddrs *each = all; each; each = each->ifa_next) {
    bool usable = each->ifa_addr && each->ifa_addr->sa_family == AF_INET &&
                  (each->ifa_flags & IFF_UP) &&
                  !(each->ifa_flags & IFF_LOOPBACK);
    if (usable)
      hosts.push_back(
          reinterpret_cast<sockaddr_in *>(each->ifa_addr)->sin_addr.s_addr);
  }
  freeifaddrs(all);
  return hosts;
}

sockaddr_in socketAddress(uint32_t host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = host;
  address.sin_port = htons(port);
  return address;
}

bool waitFor(int fd, short events, Clock::time_point end) {
  pollfd wanted{fd, events, 0};
  int ready;
  do
    ready = poll(&wanted, 1, millisecondsUntil(end));
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

/// A connected socket, or -1.
int connectTo(uint32_t host, uint16_t port, Clock::time_point end) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  sockaddr_in to = socketAddress(host, port);
  int code = connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to);
  bool started = code == 0 || errno == EINPROGRESS || errno == EINTR;
  int error = started ? 0 : errno;
  socklen_t size = sizeof error;
  if (started && waitFor(fd, POLLOUT, end))
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  else
    error = ETIMEDOUT;
  if (error == 0)
    return fd;
  close(fd);
  errno = error;
  return -1;
}

void setNoDelay(int fd) {
  int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

std::string hello(const std::string &token, int64_t rank) {
  return FrameWriter(FrameKind::Hello).put(token).put(rank).finish();
}

/// The rank that greets on `fd` with the world's token, -1 for a stranger.
int64_t greeted(int fd, const std::string &token) {
  const std::string form = hello(token, 0);
  std::string bytes(form.size(), '\0');
  auto end = Clock::now() + std::chrono::seconds(1);
  for (size_t have = 0; have < bytes.size();) {
    if (!waitFor(fd, POLLIN, end))
      return -1;
    ssize_t got = recv(fd, &bytes[have], bytes.size() - have, MSG_DONTWAIT);
    if (got <= 0)
      return -1;
    have += static_cast<size_t>(got);
  }
  if (bytes.compare(0, form.size() - sizeof(int64_t), form, 0,
                    form.size() - sizeof(int64_t)) != 0)
    return -1;
  int64_t rank;
  std::memcpy(&rank, &bytes[form.size() - sizeof rank], sizeof rank);
  return rank;
}

} // namespace

std::vector<int64_t> neighboursOf(int64_t rank, int64_t size,
                                  int64_t completeLimit) {
  std::set<int64_t> found;
  if (size <= completeLimit)
    for (int64_t other = 0; other < size; ++other)
      found.insert(other);
  else
    for (int64_t distance = 1; distance < size; distance *= 2) {
      found.insert((rank + distance) % size);
      found.insert((rank - distance + size) % size);
    }
  found.erase(rank);
  return std::vector<int64_t>(found.begin(), found.end());
}

std::string EndpointAddress::pack() const {
  FrameWriter writer(FrameKind::Hello);
  writer.put(token).put(machine).put(port);
  writer.put(static_cast<uint32_t>(hosts.size()));
  for (uint32_t host : hosts)
    writer.put(host);
  return writer.finish();
}

Result<EndpointAddress> EndpointAddress::unpack(const std::string &bytes) {
  size_t skipped = std::min(bytes.size(), frameHeader);
  FrameReader reader(bytes.data() + skipped, bytes.size() - skipped);
  EndpointAddress address;
  address.token = reader.getText();
  address.machine = reader.getText();
  address.port = reader.get<uint16_t>();
  auto count = reader.get<uint32_t>();
  for (uint32_t i = 0; i < count && reader.ok(); ++i)
    address.hosts.push_back(reader.get<uint32_t>());
  if (!reader.ok())
    return Status::rankFailed("control plane: an address cannot be read");
  return address;
}

Result<std::unique_ptr<Endpoint>> Endpoint::listen(int64_t rank) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return systemError("no socket");
  std::unique_ptr<Endpoint> endpoint(new Endpoint(rank, fd));
  sockaddr_in any = socketAddress(htonl(INADDR_ANY), 0);
  socklen_t size = sizeof any;
  if (bind(fd, reinterpret_cast<sockaddr *>(&any), size) != 0 ||
      ::listen(fd, SOMAXCONN) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr *>(&any), &size) != 0)
    return systemError("cannot open a port");
  EndpointAddress &own = endpoint->own;
  own.token = rank == 0 ? randomToken() : "";
  own.machine = machineName();
  own.port = ntohs(any.sin_port);
  own.hosts = interfaceAddresses();
  return endpoint;
}

Endpoint::~Endpoint() { close(listener); }

Result<int> Endpoint::call(int64_t peer, const EndpointAddress &address) {
  std::vector<uint32_t> hosts = address.hosts;
  if (address.machine == own.machine)
    hosts.insert(hosts.begin(), htonl(INADDR_LOOPBACK));
  for (uint32_t host : hosts) {
    int fd =
        connectTo(host, address.port, Clock::now() + std::chrono::seconds(2));
    if (fd >= 0)
      return fd;
  }
  return systemError("rank " + std::to_string(rank) + " cannot reach rank " +
                     std::to_string(peer) + " at any of its " +
                     std::to_string(hosts.size()) + " addresses, port " +
                     std::to_string(address.port));
}

Result<std::vector<std::unique_ptr<Connection>>>
Endpoint::meet(const std::vector<int64_t> &neighbours,
               const std::vector<EndpointAddress> &addresses) {
  const std::string &token = addresses[0].token;
  std::vector<std::unique_ptr<Connection>> made;
  std::set<int64_t> awaited;
  for (int64_t peer : neighbours) {
    if (peer > rank) {
      awaited.insert(peer);
      continue;
    }
    TANDEM_ASSIGN(int fd, call(peer, addresses[peer]));
    setNoDelay(fd);
    made.push_back(std::make_unique<Connection>(peer, fd));
    made.back()->send(hello(token, rank));
  }
  auto end = Clock::now() + meetingTime;
  while (!awaited.empty()) {
    if (!waitFor(listener, POLLIN, end))
      return Status::rankFailed(
          "control plane: rank " + std::to_string(*awaited.begin()) +
          " did not connect to rank " + std::to_string(rank) + " within " +
          std::to_string(meetingTime.count()) + " s");
    int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
      continue;
    int64_t peer = greeted(fd, token);
    if (awaited.erase(peer) == 0) {
      close(fd);
      continue;
    }
    setNoDelay(fd);
    made.push_back(std::make_unique<Connection>(peer, fd));
  }
  return made;
}

} // namespace tandem

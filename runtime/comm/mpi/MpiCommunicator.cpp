#include "runtime/comm/mpi/MpiCommunicator.h"

#include "runtime/comm/Reduce.h"
#include "runtime/comm/control/CrashHandler.h"

#include <algorithm>
#include <cstring>

namespace tandem {
namespace {

std::byte *at(void *base, int64_t offset) {
  return static_cast<std::byte *>(base) + offset;
}
const std::byte *at(const void *base, int64_t offset) {
  return static_cast<const std::byte *>(base) + offset;
}

void copy(void *to, const void *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memmove(to, from, static_cast<size_t>(bytes));
}

} // namespace

/// A group, its part of every tag, and how many messages each channel's calls
/// have exchanged in it.
class MpiCommunicator::MpiGroup final : public Group {
public:
  MpiGroup(const std::vector<int64_t> &members, int64_t position,
           const TagLayout &tags)
      : tags(tags), key(tags.groupKey(members)) {
    ranks = members;
    position_ = position;
  }

  int64_t rankAt(int64_t position) const { return ranks[position]; }
  /// The tag of the next round of messages on `channel`.
  int32_t nextTag(int channel) {
    return tags.tag(channel, key, sequence[channel]++);
  }

private:
  const TagLayout &tags;
  uint32_t key;
  std::array<uint32_t, ActivityTable::channels> sequence{};
};

int64_t MpiCommunicator::Pieces::bytes(int64_t i) const {
  return std::clamp<int64_t>(total - i * stride, 0, stride);
}

MpiCommunicator::MpiCommunicator(MpiLink &link)
    : link(link), tags(link.world.tagLimit),
      sent(link.world.size * ActivityTable::channels),
      received(link.world.size * ActivityTable::channels) {
  for (int channel = 0; channel < ActivityTable::channels; ++channel)
    exchanges.emplace_back(link, channel);
}

MpiCommunicator::~MpiCommunicator() = default;

Result<Group *> MpiCommunicator::group(const std::vector<int64_t> &members) {
  auto known = groups.find(members);
  if (known != groups.end())
    return static_cast<Group *>(known->second.get());
  int64_t position = -1;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] < 0 || members[i] >= size())
      return Status::refused("a group names rank " +
                             std::to_string(members[i]) + " of " +
                             std::to_string(size()));
    if (std::count(members.begin(), members.end(), members[i]) > 1)
      return Status::refused("a group names rank " +
                             std::to_string(members[i]) + " twice");
    if (members[i] == rank())
      position = static_cast<int64_t>(i);
  }
  if (position < 0)
    return Status::refused("rank " + std::to_string(rank()) +
                           " is no member of the group it makes");
  auto made = std::make_unique<MpiGroup>(members, position, tags);
  Group *result = made.get();
  groups.emplace(members, std::move(made));
  return result;
}

/// What every call checks first.
Status MpiCommunicator::enter(int channel) const {
  if (channel < 0 || channel >= ActivityTable::setUp)
    return Status::refused("channel " + std::to_string(channel) +
                           " is outside 0 to " +
                           std::to_string(ActivityTable::setUp - 1));
  if (link.plane.faulted())
    return link.plane.surrender();
  return Status();
}

/// Sends piece i of `in` to rank i; the sum of all ranks' pieces of this
/// rank's position, in rank order, goes to `out`.
Status MpiCommunicator::scatterSum(MpiGroup &group, int channel, const void *in,
                                   void *out, Pieces pieces, DType dtype,
                                   ReductionKind kind, void *workspace) {
  const int64_t n = group.size(), me = group.position();
  const int64_t mine = pieces.bytes(me);
  const int32_t tag = group.nextTag(channel);
  Exchange &messages = exchanges[channel];
  std::vector<const void *> terms(n);
  for (int64_t i = 0; i < n; ++i) {
    int64_t slot = i < me ? i : i - 1;
    terms[i] = i == me ? static_cast<const void *>(at(in, me * pieces.stride))
                       : at(workspace, slot * pieces.stride);
    if (i != me && mine > 0)
      messages.receive(at(workspace, slot * pieces.stride), mine,
                       group.rankAt(i), tag);
  }
  for (int64_t step = 1; step < n; ++step) {
    int64_t i = (me + step) % n;
    if (int64_t bytes = pieces.bytes(i))
      messages.send(at(in, i * pieces.stride), bytes, group.rankAt(i), tag);
  }
  TANDEM_TRY(messages.wait());
  reduceInOrder(terms.data(), n, out, mine / blockBytes(dtype), dtype, kind);
  return Status();
}

/// Fills `out`, of which this rank's own piece is there, with all others'.
Status MpiCommunicator::gatherPieces(MpiGroup &group, int channel, void *out,
                                     Pieces pieces) {
  const int64_t n = group.size(), me = group.position();
  const int32_t tag = group.nextTag(channel);
  Exchange &messages = exchanges[channel];
  for (int64_t i = 0; i < n; ++i)
    if (i != me && pieces.bytes(i) > 0)
      messages.receive(at(out, i * pieces.stride), pieces.bytes(i),
                       group.rankAt(i), tag);
  for (int64_t step = 1; step < n && pieces.bytes(me) > 0; ++step)
    messages.send(at(out, me * pieces.stride), pieces.bytes(me),
                  group.rankAt((me + step) % n), tag);
  return messages.wait();
}

Status MpiCommunicator::allReduce(Group &group, int channel, const void *in,
                                  void *out, int64_t count, DType dtype,
                                  ReductionKind kind, void *workspace) {
  TANDEM_TRY(enter(channel));
  TANDEM_TRY(checkReduction(dtype, kind));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size(), width = blockBytes(dtype);
  Pieces pieces{count * width, (count + n - 1) / n * width};
  if (n == 1)
    copy(out, in, pieces.total);
  if (n == 1 || count == 0)
    return Status();
  TANDEM_TRY(scatterSum(mpi, channel, in,
                        at(out, mpi.position() * pieces.stride), pieces, dtype,
                        kind, workspace));
  return gatherPieces(mpi, channel, out, pieces);
}

Status MpiCommunicator::reduceScatter(Group &group, int channel, const void *in,
                                      void *out, int64_t count, DType dtype,
                                      ReductionKind kind, void *workspace) {
  TANDEM_TRY(enter(channel));
  TANDEM_TRY(checkReduction(dtype, kind));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t stride = count * blockBytes(dtype);
  if (mpi.size() == 1)
    copy(out, in, stride);
  if (mpi.size() == 1 || count == 0)
    return Status();
  return scatterSum(mpi, channel, in, out, Pieces{stride * mpi.size(), stride},
                    dtype, kind, workspace);
}

Status MpiCommunicator::allGather(Group &group, int channel, const void *in,
                                  void *out, int64_t bytes) {
  TANDEM_TRY(enter(channel));
  auto &mpi = static_cast<MpiGroup &>(group);
  copy(at(out, mpi.position() * bytes), in, bytes);
  if (mpi.size() == 1 || bytes == 0)
    return Status();
  return gatherPieces(mpi, channel, out, Pieces{bytes * mpi.size(), bytes});
}

Status MpiCommunicator::allToAll(Group &group, int channel, const void *in,
                                 void *out, int64_t bytes) {
  TANDEM_TRY(enter(channel));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size(), me = mpi.position();
  copy(at(out, me * bytes), at(in, me * bytes), bytes);
  if (n == 1 || bytes == 0)
    return Status();
  const int32_t tag = mpi.nextTag(channel);
  Exchange &messages = exchanges[channel];
  for (int64_t step = 1; step < n; ++step) {
    int64_t from = (me - step + n) % n;
    messages.receive(at(out, from * bytes), bytes, mpi.rankAt(from), tag);
  }
  for (int64_t step = 1; step < n; ++step) {
    int64_t to = (me + step) % n;
    messages.send(at(in, to * bytes), bytes, mpi.rankAt(to), tag);
  }
  return messages.wait();
}

Status MpiCommunicator::permute(Group &group, int channel, const void *in,
                                int64_t toPosition, void *out,
                                int64_t fromPosition, int64_t bytes) {
  TANDEM_TRY(enter(channel));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size(), me = mpi.position();
  if (toPosition >= n || fromPosition >= n)
    return Status::refused(
        "permute between positions " + std::to_string(toPosition) + " and " +
        std::to_string(fromPosition) + " of a group of " + std::to_string(n));
  const int32_t tag = mpi.nextTag(channel);
  if (bytes == 0)
    return Status();
  if (toPosition == me && fromPosition == me) {
    copy(out, in, bytes);
    return Status();
  }
  // A negative position is nobody: the edge of a shift that does not wrap.
  Exchange &messages = exchanges[channel];
  if (fromPosition >= 0)
    messages.receive(out, bytes, mpi.rankAt(fromPosition), tag);
  if (toPosition >= 0)
    messages.send(in, bytes, mpi.rankAt(toPosition), tag);
  return messages.wait();
}

/// A binomial tree: position p (counted from the root) receives from p
/// without its highest bit and sends to p with each higher one.
Status MpiCommunicator::broadcast(Group &group, int channel, void *data,
                                  int64_t bytes, int64_t root) {
  TANDEM_TRY(enter(channel));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size();
  if (root < 0 || root >= n)
    return Status::refused("broadcast from position " + std::to_string(root) +
                           " of a group of " + std::to_string(n));
  if (n == 1 || bytes == 0)
    return Status();
  const int64_t me = (mpi.position() - root + n) % n;
  const int32_t tag = mpi.nextTag(channel);
  auto rankOf = [&](int64_t p) { return mpi.rankAt((p + root) % n); };
  Exchange &messages = exchanges[channel];
  int64_t bit = 1;
  while (bit <= me)
    bit *= 2;
  if (me > 0) {
    messages.receive(data, bytes, rankOf(me - bit / 2), tag);
    TANDEM_TRY(messages.wait());
  }
  for (; me + bit < n; bit *= 2)
    messages.send(data, bytes, rankOf(me + bit), tag);
  return messages.wait();
}

Status MpiCommunicator::peerStatus(int64_t peer, const char *what) const {
  if (peer >= 0 && peer < size() && peer != rank())
    return Status();
  return Status::refused("rank " + std::to_string(rank()) + " of " +
                         std::to_string(size()) + " cannot " + what + " rank " +
                         std::to_string(peer));
}

int32_t MpiCommunicator::pairTag(int64_t peer, int channel, bool sending) {
  std::vector<uint32_t> &counts = sending ? sent : received;
  return tags.tag(channel, 0,
                  counts[peer * ActivityTable::channels + channel]++);
}

Status MpiCommunicator::send(int64_t to, int channel, const void *data,
                             int64_t bytes) {
  TANDEM_TRY(enter(channel));
  TANDEM_TRY(peerStatus(to, "send to"));
  Exchange &messages = exchanges[channel];
  messages.sendMatched(data, bytes, to, pairTag(to, channel, true));
  return messages.wait();
}

Status MpiCommunicator::receive(int64_t from, int channel, void *data,
                                int64_t bytes) {
  TANDEM_TRY(enter(channel));
  TANDEM_TRY(peerStatus(from, "receive from"));
  Exchange &messages = exchanges[channel];
  messages.receive(data, bytes, from, pairTag(from, channel, false));
  return messages.wait();
}

void MpiCommunicator::begin(int channel, const Activity &activity) {
  if (channel < 0 || channel >= ActivityTable::channels)
    return;
  link.plane.activity()[channel].begin(activity);
  setCrashActivity(rank(), activity.instruction, activity.location);
}

/// The length, then the bytes: the receiver need not know how many.
Status MpiCommunicator::sendBytes(int64_t to, const std::string &bytes) {
  const int channel = ActivityTable::setUp;
  auto length = static_cast<int64_t>(bytes.size());
  Exchange &messages = exchanges[channel];
  messages.send(&length, sizeof length, to, pairTag(to, channel, true));
  if (length > 0)
    messages.send(bytes.data(), length, to, pairTag(to, channel, true));
  return messages.wait();
}

Result<std::string> MpiCommunicator::receiveBytes(int64_t from) {
  const int channel = ActivityTable::setUp;
  int64_t length = 0;
  Exchange &messages = exchanges[channel];
  messages.receive(&length, sizeof length, from, pairTag(from, channel, false));
  TANDEM_TRY(messages.wait());
  std::string bytes(static_cast<size_t>(length), '\0');
  if (length > 0)
    messages.receive(bytes.data(), length, from, pairTag(from, channel, false));
  TANDEM_TRY(messages.wait());
  return bytes;
}

Status MpiCommunicator::broadcastBytes(std::string &bytes, int64_t root) {
  const int64_t n = size(), me = (rank() - root + n) % n;
  int64_t bit = 1;
  while (bit <= me)
    bit *= 2;
  if (me > 0) {
    TANDEM_ASSIGN(bytes, receiveBytes((me - bit / 2 + root) % n));
  }
  for (; me + bit < n; bit *= 2)
    TANDEM_TRY(sendBytes((me + bit + root) % n, bytes));
  return Status();
}

Result<std::vector<std::string>>
MpiCommunicator::gatherBytes(const std::string &bytes, int64_t root) {
  std::vector<std::string> all;
  if (rank() != root) {
    TANDEM_TRY(sendBytes(root, bytes));
    return all;
  }
  all.resize(size());
  for (int64_t from = 0; from < size(); ++from) {
    if (from == root)
      all[from] = bytes;
    else {
      TANDEM_ASSIGN(all[from], receiveBytes(from));
    }
  }
  return all;
}

/// Dissemination: after the round at distance d each rank knows that the
/// 2 d - 1 before it have come.
Status MpiCommunicator::meet() {
  const int64_t n = size();
  for (int64_t distance = 1; distance < n; distance *= 2) {
    const int channel = ActivityTable::setUp;
    int64_t from = (rank() - distance + n) % n, to = (rank() + distance) % n;
    Exchange &messages = exchanges[channel];
    messages.receive(nullptr, 0, from, pairTag(from, channel, false));
    messages.send(nullptr, 0, to, pairTag(to, channel, true));
    TANDEM_TRY(messages.wait());
  }
  return Status();
}

} // namespace tandem

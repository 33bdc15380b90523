#include "runtime/comm/mpi/MpiCommunicator.h"

#include "runtime/comm/Members.h"
#include "runtime/comm/Reduce.h"
#include "runtime/comm/control/CrashHandler.h"

#include <algorithm>
#include <cstring>

namespace tandem {
namespace {

/// A partner of permute that is not there: the edge of a shift that does not
/// wrap.
constexpr int64_t nobody = -1;

std::byte *at(void *base, int64_t offset) {
  return static_cast<std::byte *>(base) + offset;
}
const std::byte *at(const void *base, int64_t offset) {
  return static_cast<const std::byte *>(base) + offset;
}

/// Beyond this adding everything twice costs more than a second round.
constexpr int64_t largestSwap = 64 * 1024;

void copy(void *to, const void *from, int64_t bytes) {
  if (bytes > 0 && to != from)
    std::memmove(to, from, static_cast<size_t>(bytes));
}

/// One end of a message of set-up.
Call setUpCall(CallKind kind, int64_t bytes) {
  return {kind, DType::U8, ReductionKind::Sum, 0, bytes};
}

} // namespace

/// A group, its hash, and how many rounds of messages each channel's calls
/// have exchanged in it.
class MpiCommunicator::MpiGroup final : public Group {
public:
  MpiGroup(const std::vector<int64_t> &members, int64_t position)
      : hash(hashRanks(members)) {
    ranks = members;
    position_ = position;
  }

  int64_t rankAt(int64_t position) const { return ranks[position]; }

  const uint64_t hash;
  std::array<uint32_t, ActivityTable::channels> rounds{};
};

int64_t MpiCommunicator::Pieces::bytes(int64_t i) const {
  return std::clamp<int64_t>(total - i * stride, 0, stride);
}

MpiCommunicator::MpiCommunicator(MpiLink &link)
    : link(link), tags(link.world.tagLimit),
      sent(link.world.size * TagLayout::lanes),
      received(link.world.size * TagLayout::lanes) {
  for (int channel = 0; channel < ActivityTable::channels; ++channel)
    exchanges.emplace_back(link, channel);
}

MpiCommunicator::~MpiCommunicator() = default;

Result<Group *> MpiCommunicator::group(const std::vector<int64_t> &members) {
  TANDEM_ASSIGN(int64_t position, positionAmong(members, rank(), size()));
  std::lock_guard<std::mutex> lock(groupsMutex);
  std::unique_ptr<MpiGroup> &slot = groups[members];
  if (!slot)
    slot = std::make_unique<MpiGroup>(members, position);
  return slot.get();
}

/// What every call checks first.
Status MpiCommunicator::check(int channel, int64_t amount) const {
  TANDEM_TRY(checkChannel(channel));
  if (amount < 0)
    return Status::refused("a collective cannot move " +
                           std::to_string(amount) + " bytes or elements");
  if (link.plane.faulted())
    return link.plane.surrender();
  return Status();
}

/// Begins a round of messages: its tag.
int32_t MpiCommunicator::enter(MpiGroup &group, int channel, const Call &call) {
  uint32_t round = group.rounds[channel]++;
  link.plane.activity()[channel].enter({group.hash, round, call});
  return tags.tag(channel, group.hash, round, call);
}

int32_t MpiCommunicator::enterPair(int64_t peer, int channel, int lane,
                                   const Call &call) {
  bool sending = call.kind == CallKind::Send;
  std::vector<uint32_t> &counts = sending ? sent : received;
  uint32_t round = counts[peer * TagLayout::lanes + lane]++;
  std::vector<int64_t> way{rank(), peer};
  if (!sending)
    std::swap(way[0], way[1]);
  // A list with a negative rank is no group's: pairs never meet groups.
  uint64_t hash = hashRanks({way[0], way[1], -1 - lane});
  link.plane.activity()[channel].enter({hash, round, call});
  return tags.tag(ActivityTable::channels + lane, hash, round, call);
}

/// Sends piece i of `in` to rank i; the sum of all ranks' pieces of this
/// rank's position, in one tree of ranks, goes to `out`.
Status MpiCommunicator::scatterSum(MpiGroup &group, int channel,
                                   const Call &call, const void *in, void *out,
                                   Pieces pieces, void *workspace) {
  const int64_t n = group.size(), me = group.position();
  const int64_t mine = pieces.bytes(me);
  const int32_t tag = enter(group, channel, call);
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
  reduceInTree(terms.data(), n, out, mine / blockBytes(call.dtype), call.dtype,
               call.reduction);
  return Status();
}

/// Fills `out`, of which this rank's own piece is there, with all others'.
Status MpiCommunicator::gatherPieces(MpiGroup &group, int channel,
                                     const Call &call, void *out,
                                     Pieces pieces) {
  const int64_t n = group.size(), me = group.position();
  const int32_t tag = enter(group, channel, call);
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

/// The all-reduce of two ranks in one round: each sends all it has and both
/// add. As many bytes as two rounds of halves, the same order of the sum.
Status MpiCommunicator::swapSum(MpiGroup &group, int channel, const Call &call,
                                const void *in, void *out, void *workspace) {
  const int64_t other = 1 - group.position();
  const int32_t tag = enter(group, channel, call);
  Exchange &messages = exchanges[channel];
  messages.receive(workspace, call.bytes, group.rankAt(other), tag);
  messages.send(in, call.bytes, group.rankAt(other), tag);
  TANDEM_TRY(messages.wait());
  const void *terms[] = {in, workspace};
  if (other == 0)
    std::swap(terms[0], terms[1]);
  reduceInTree(terms, 2, out, call.bytes / blockBytes(call.dtype), call.dtype,
               call.reduction);
  return Status();
}

Status MpiCommunicator::allReduce(Group &group, int channel, const void *in,
                                  void *out, int64_t count, DType dtype,
                                  ReductionKind kind, void *workspace) {
  TANDEM_TRY(check(channel, count));
  TANDEM_TRY(checkReduction(dtype, kind));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size(), width = blockBytes(dtype);
  Pieces pieces{count * width, (count + n - 1) / n * width};
  if (n == 1)
    copy(out, in, pieces.total);
  if (n == 1 || count == 0)
    return Status();
  const Call call{CallKind::AllReduce, dtype, kind, 0, pieces.total};
  if (n == 2 && pieces.total <= largestSwap)
    return swapSum(mpi, channel, call, in, out, workspace);
  void *mine = at(out, mpi.position() * pieces.stride);
  TANDEM_TRY(scatterSum(mpi, channel, call, in, mine, pieces, workspace));
  return gatherPieces(mpi, channel, call, out, pieces);
}

Status MpiCommunicator::reduceScatter(Group &group, int channel, const void *in,
                                      void *out, int64_t count, DType dtype,
                                      ReductionKind kind, void *workspace) {
  TANDEM_TRY(check(channel, count));
  TANDEM_TRY(checkReduction(dtype, kind));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t stride = count * blockBytes(dtype);
  if (mpi.size() == 1)
    copy(out, in, stride);
  if (mpi.size() == 1 || count == 0)
    return Status();
  const Call call{CallKind::ReduceScatter, dtype, kind, 0, stride};
  return scatterSum(mpi, channel, call, in, out,
                    Pieces{stride * mpi.size(), stride}, workspace);
}

Status MpiCommunicator::allGather(Group &group, int channel, const void *in,
                                  void *out, int64_t bytes) {
  TANDEM_TRY(check(channel, bytes));
  auto &mpi = static_cast<MpiGroup &>(group);
  copy(at(out, mpi.position() * bytes), in, bytes);
  if (mpi.size() == 1 || bytes == 0)
    return Status();
  const Call call{CallKind::AllGather, DType::U8, ReductionKind::Sum, 0, bytes};
  return gatherPieces(mpi, channel, call, out,
                      Pieces{bytes * mpi.size(), bytes});
}

Status MpiCommunicator::allToAll(Group &group, int channel, const void *in,
                                 void *out, int64_t bytes) {
  TANDEM_TRY(check(channel, bytes));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size(), me = mpi.position();
  copy(at(out, me * bytes), at(in, me * bytes), bytes);
  if (n == 1 || bytes == 0)
    return Status();
  const Call call{CallKind::AllToAll, DType::U8, ReductionKind::Sum, 0, bytes};
  const int32_t tag = enter(mpi, channel, call);
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
  TANDEM_TRY(check(channel, bytes));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size(), me = mpi.position();
  for (int64_t position : {toPosition, fromPosition})
    if (position != nobody)
      TANDEM_TRY(checkPosition("permute's partner", position, n));
  if (bytes == 0)
    return Status();
  if (fromPosition == nobody)
    std::memset(out, 0, static_cast<size_t>(bytes));
  const Call call{CallKind::Permute, DType::U8, ReductionKind::Sum, 0, bytes};
  const int32_t tag = enter(mpi, channel, call);
  if (toPosition == me && fromPosition == me) {
    copy(out, in, bytes);
    return Status();
  }
  Exchange &messages = exchanges[channel];
  if (fromPosition != nobody)
    messages.receive(out, bytes, mpi.rankAt(fromPosition), tag);
  if (toPosition != nobody)
    messages.send(in, bytes, mpi.rankAt(toPosition), tag);
  return messages.wait();
}

/// A binomial tree: position p (counted from the root) receives from p
/// without its highest bit and sends to p with each higher one.
Status MpiCommunicator::broadcast(Group &group, int channel, void *data,
                                  int64_t bytes, int64_t root) {
  TANDEM_TRY(check(channel, bytes));
  auto &mpi = static_cast<MpiGroup &>(group);
  const int64_t n = mpi.size();
  TANDEM_TRY(checkPosition("broadcast's root", root, n));
  if (n == 1 || bytes == 0)
    return Status();
  const int64_t me = (mpi.position() - root + n) % n;
  const Call call{CallKind::Broadcast, DType::U8, ReductionKind::Sum,
                  static_cast<int32_t>(root), bytes};
  const int32_t tag = enter(mpi, channel, call);
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

Status MpiCommunicator::checkPeer(int64_t peer, const char *what) const {
  if (peer >= 0 && peer < size() && peer != rank())
    return Status();
  return Status::refused("rank " + std::to_string(rank()) + " of " +
                         std::to_string(size()) + " cannot " + what + " rank " +
                         std::to_string(peer));
}

Status MpiCommunicator::send(int64_t to, int channel, const void *data,
                             int64_t bytes, int lane) {
  TANDEM_TRY(check(channel, bytes));
  TANDEM_TRY(checkLane(lane));
  TANDEM_TRY(checkPeer(to, "send to"));
  const Call call{CallKind::Send, DType::U8, ReductionKind::Sum, 0, bytes};
  Exchange &messages = exchanges[channel];
  messages.sendMatched(data, bytes, to, enterPair(to, channel, lane, call));
  return messages.wait();
}

Status MpiCommunicator::receive(int64_t from, int channel, void *data,
                                int64_t bytes, int lane) {
  TANDEM_TRY(check(channel, bytes));
  TANDEM_TRY(checkLane(lane));
  TANDEM_TRY(checkPeer(from, "receive from"));
  const Call call{CallKind::Receive, DType::U8, ReductionKind::Sum, 0, bytes};
  Exchange &messages = exchanges[channel];
  messages.receive(data, bytes, from, enterPair(from, channel, lane, call));
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
  auto send = [&](const void *data, int64_t size) {
    messages.send(data, size, to,
                  enterPair(to, channel, TagLayout::setUpLane,
                            setUpCall(CallKind::Send, size)));
  };
  send(&length, sizeof length);
  if (length > 0)
    send(bytes.data(), length);
  return messages.wait();
}

Result<std::string> MpiCommunicator::receiveBytes(int64_t from) {
  const int channel = ActivityTable::setUp;
  Exchange &messages = exchanges[channel];
  auto receive = [&](void *data, int64_t size) {
    messages.receive(data, size, from,
                     enterPair(from, channel, TagLayout::setUpLane,
                               setUpCall(CallKind::Receive, size)));
    return messages.wait();
  };
  int64_t length = 0;
  TANDEM_TRY(receive(&length, sizeof length));
  std::string bytes(static_cast<size_t>(length), '\0');
  if (length > 0)
    TANDEM_TRY(receive(bytes.data(), length));
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
    messages.receive(nullptr, 0, from,
                     enterPair(from, channel, TagLayout::setUpLane,
                               setUpCall(CallKind::Receive, 0)));
    messages.send(nullptr, 0, to,
                  enterPair(to, channel, TagLayout::setUpLane,
                            setUpCall(CallKind::Send, 0)));
    TANDEM_TRY(messages.wait());
  }
  return Status();
}

} // namespace tandem

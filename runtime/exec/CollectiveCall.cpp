#include "runtime/exec/CollectiveCall.h"

#include "runtime/exec/BlockCopy.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tandem {

bool isCollective(fb::Opcode op) {
  return op >= fb::Opcode::AllReduce && op <= fb::Opcode::Recv;
}

namespace {

int64_t product(const std::vector<int64_t> &shape, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i)
    result *= shape[i];
  return result;
}

/// Whether `n` pieces of shape `piece`, one behind the other, are a tensor of
/// shape `whole` that is split along `dim`.
bool liesInPieces(const std::vector<int64_t> &whole,
                  const std::vector<int64_t> &piece, size_t dim, int64_t n) {
  return product(whole, 0, dim) == 1 && n * piece[dim] == whole[dim];
}

/// What an all-to-all sends to one rank: its share of `dim`, of this rank's
/// part of `fromDim`.
std::vector<int64_t> exchangedShape(const CollectiveCall &call) {
  std::vector<int64_t> piece = call.from.localShape();
  piece[call.dim] = call.to.localShape()[call.dim];
  return piece;
}

int64_t bytesOf(const std::vector<int64_t> &shape, DType dtype) {
  return storageBytes(dtype, product(shape, 0, shape.size()));
}

/// Where the parts of a collective's workspace begin and end.
struct Workspace {
  bool packs = false, unpacks = false;
  int64_t packed = 0, received = 0, own = 0;
  int64_t total() const { return packed + received + own; }
};

Workspace workspaceOf(const CollectiveCall &call) {
  Workspace result;
  int64_t n = sizeOf(call.axes);
  std::vector<int64_t> from = call.from.localShape();
  std::vector<int64_t> to = call.to.localShape();
  DType dtype = call.from.dtype;
  switch (call.op) {
  case fb::Opcode::AllReduce:
    result.own = Communicator::allReduceWorkspaceBytes(
        dtype, product(from, 0, from.size()), n);
    break;
  case fb::Opcode::AllGather:
    result.unpacks = !liesInPieces(to, from, call.dim, n);
    result.received = result.unpacks ? n * bytesOf(from, dtype) : 0;
    break;
  case fb::Opcode::ReduceScatter:
    result.packs = !liesInPieces(from, to, call.dim, n);
    result.packed = result.packs ? n * bytesOf(to, dtype) : 0;
    result.own = Communicator::allReduceWorkspaceBytes(
        dtype, n * product(to, 0, to.size()), n);
    break;
  case fb::Opcode::AllToAll: {
    std::vector<int64_t> piece = exchangedShape(call);
    result.packs = !liesInPieces(from, piece, call.dim, n);
    result.unpacks = !liesInPieces(to, piece, call.fromDim, n);
    int64_t bytes = n * bytesOf(piece, dtype);
    result.packed = result.packs ? bytes : 0;
    result.received = result.unpacks ? bytes : 0;
    break;
  }
  default:
    break;
  }
  return result;
}

/// Copies each member's piece; piece i is `pieceBytes` * i into the packed
/// side.
struct PieceCopies {
  std::vector<BlockCopy> copies;

  void run(const std::byte *source, std::byte *target) const {
    for (const BlockCopy &copy : copies)
      copy.run(source, target);
  }
};

/// Builds the work of one collective for one rank.
class Preparer {
public:
  Preparer(const CollectiveCall &call, const RankLayout &layout,
           Communicator &communicator)
      : call(call), layout(layout), comm(communicator),
        from(call.from.localShape()), to(call.to.localShape()),
        element(blockBytes(call.from.dtype)) {}

  Result<HostWork> prepare() {
    need = workspaceOf(call);
    if (need.total() > call.workspaceBytes)
      return Status::refused(
          "workspace of " + std::to_string(call.workspaceBytes) +
          " bytes, it needs " + std::to_string(need.total()));
    if (call.op == fb::Opcode::Send || call.op == fb::Opcode::Recv)
      return transfer();
    if (call.op == fb::Opcode::AllSlice)
      return allSlice();
    members = layout.mesh.groupRanks(layout.rank, call.axes);
    TANDEM_ASSIGN(group, comm.group(members));
    switch (call.op) {
    case fb::Opcode::AllReduce:
      return allReduce();
    case fb::Opcode::AllGather:
      return allGather();
    case fb::Opcode::ReduceScatter:
      return reduceScatter();
    case fb::Opcode::AllToAll:
      return allToAll();
    case fb::Opcode::Permute:
      return permute();
    default:
      return broadcast();
    }
  }

private:
  int64_t n() const { return static_cast<int64_t>(members.size()); }

  /// The lanes of `dim` that member `m` holds under `piece`, counted from
  /// this rank's first lane under `whole`.
  LaneRange lanesOf(int64_t m, const TensorType &piece, const TensorType &whole,
                    size_t dim) const {
    Extent part = layout.of(members[static_cast<size_t>(m)]).extent(piece, dim);
    return {part.begin - layout.extent(whole, dim).begin, 0, part.size};
  }

  /// Tensor of shape `tensor` -> n pieces of shape `piece`, along `dim`.
  PieceCopies packing(const std::vector<int64_t> &tensor,
                      const std::vector<int64_t> &piece, size_t dim) const {
    PieceCopies result;
    for (int64_t m = 0; m < n(); ++m) {
      LaneRange lanes = lanesOf(m, call.to, call.from, dim);
      BlockCopy copy = laneCopy(tensor, piece, dim, lanes, element);
      copy.to += m * bytesOf(piece, call.from.dtype);
      result.copies.push_back(copy);
    }
    return result;
  }

  /// n pieces of shape `piece` -> tensor of shape `tensor`, along `dim`.
  PieceCopies unpacking(const std::vector<int64_t> &piece,
                        const std::vector<int64_t> &tensor, size_t dim) const {
    PieceCopies result;
    for (int64_t m = 0; m < n(); ++m) {
      LaneRange lanes = lanesOf(m, call.from, call.to, dim);
      std::swap(lanes.from, lanes.to);
      BlockCopy copy = laneCopy(piece, tensor, dim, lanes, element);
      copy.from += m * bytesOf(piece, call.from.dtype);
      result.copies.push_back(copy);
    }
    return result;
  }

  Result<HostWork> transfer() {
    Communicator *c = &comm;
    int64_t peer = call.target, bytes = bytesOf(from, call.from.dtype);
    int channel = call.channel, lane = call.lane;
    if (peer < 0 || peer >= layout.mesh.numRanks() || peer == layout.rank)
      return Status::refused("no peer of rank " + std::to_string(peer));
    if (call.op == fb::Opcode::Send)
      return HostWork([=, in = call.in] {
        return c->send(peer, channel, in, bytes, lane);
      });
    bytes = bytesOf(to, call.to.dtype);
    return HostWork([=, out = call.out] {
      return c->receive(peer, channel, out, bytes, lane);
    });
  }

  Result<HostWork> allSlice() {
    Extent whole = layout.extent(call.from, call.dim);
    Extent piece = layout.extent(call.to, call.dim);
    BlockCopy copy =
        laneCopy(from, to, call.dim, {piece.begin - whole.begin, 0, piece.size},
                 element);
    return HostWork([copy, in = call.in, out = call.out] {
      if (in != out)
        copy.run(in, out);
      return Status();
    });
  }

  Result<HostWork> allReduce() {
    int64_t count = product(from, 0, from.size());
    return HostWork([c = &comm, call = call, group = group, count] {
      return c->allReduce(*group, call.channel, call.in, call.out, count,
                          call.from.dtype, call.reduction, call.workspace);
    });
  }

  Result<HostWork> allGather() {
    int64_t bytes = bytesOf(from, call.from.dtype);
    PieceCopies unpack;
    if (need.unpacks)
      unpack = unpacking(from, to, call.dim);
    std::byte *landing = need.unpacks ? call.workspace : call.out;
    return HostWork([=, c = &comm, group = group, channel = call.channel,
                     in = call.in, out = call.out]() -> Status {
      TANDEM_TRY(c->allGather(*group, channel, in, landing, bytes));
      unpack.run(landing, out);
      return Status();
    });
  }

  Result<HostWork> reduceScatter() {
    int64_t count = product(to, 0, to.size());
    PieceCopies pack;
    if (need.packs)
      pack = packing(from, to, call.dim);
    std::byte *pieces = need.packs ? call.workspace : call.in;
    std::byte *own = call.workspace + need.packed;
    return HostWork([=, c = &comm, group = group, channel = call.channel,
                     in = call.in, out = call.out, dtype = call.from.dtype,
                     kind = call.reduction]() -> Status {
      pack.run(in, pieces);
      return c->reduceScatter(*group, channel, pieces, out, count, dtype, kind,
                              own);
    });
  }

  Result<HostWork> allToAll() {
    std::vector<int64_t> piece = exchangedShape(call);
    int64_t bytes = bytesOf(piece, call.from.dtype);
    PieceCopies pack, unpack;
    if (need.packs)
      pack = packing(from, piece, call.dim);
    if (need.unpacks)
      unpack = unpacking(piece, to, call.fromDim);
    std::byte *pieces = need.packs ? call.workspace : call.in;
    std::byte *landing = need.unpacks ? call.workspace + need.packed : call.out;
    return HostWork([=, c = &comm, group = group, channel = call.channel,
                     in = call.in, out = call.out]() -> Status {
      pack.run(in, pieces);
      TANDEM_TRY(c->allToAll(*group, channel, pieces, landing, bytes));
      unpack.run(landing, out);
      return Status();
    });
  }

  /// What a member holds, as begins and sizes; all empty pieces are alike.
  std::vector<int64_t> holding(int64_t m, const TensorType &type) const {
    std::vector<int64_t> key;
    RankLayout view = layout.of(members[static_cast<size_t>(m)]);
    for (size_t i = 0; i < type.shape.size(); ++i) {
      Extent piece = view.extent(type, i);
      if (piece.size == 0)
        return {};
      key.push_back(piece.begin);
      key.push_back(piece.size);
    }
    return key;
  }

  /// The k-th member that wants a piece gets it from the k-th that holds it.
  Result<HostWork> permute() {
    std::map<std::vector<int64_t>, std::vector<int64_t>> holders, takers;
    for (int64_t m = 0; m < n(); ++m) {
      holders[holding(m, call.from)].push_back(m);
      takers[holding(m, call.to)].push_back(m);
    }
    int64_t self = group->position(), source = -1, target = -1;
    for (const auto &[piece, wanting] : takers) {
      const std::vector<int64_t> &having = holders[piece];
      if (having.size() != wanting.size())
        return Status::refused(
            std::to_string(wanting.size()) + " ranks want a piece that " +
            std::to_string(having.size()) + " hold, which is no permutation");
      for (size_t k = 0; k < wanting.size(); ++k) {
        source = wanting[k] == self ? having[k] : source;
        target = having[k] == self ? wanting[k] : target;
      }
    }
    int64_t bytes = bytesOf(from, call.from.dtype);
    return HostWork([=, c = &comm, group = group, channel = call.channel,
                     in = call.in, out = call.out] {
      return c->permute(*group, channel, in, target, out, source, bytes);
    });
  }

  Result<HostWork> broadcast() {
    int64_t bytes = bytesOf(from, call.from.dtype);
    if (call.target < 0 || call.target >= n())
      return Status::refused("root " + std::to_string(call.target) +
                             " of a group of " + std::to_string(n()));
    bool copies = call.in != call.out && group->position() == call.target;
    return HostWork([=, c = &comm, group = group, channel = call.channel,
                     in = call.in, out = call.out, root = call.target] {
      if (copies)
        std::memcpy(out, in, static_cast<size_t>(bytes));
      return c->broadcast(*group, channel, out, bytes, root);
    });
  }

  const CollectiveCall &call;
  const RankLayout &layout;
  Communicator &comm;
  std::vector<int64_t> from, to;
  int64_t element;
  Workspace need;
  std::vector<int64_t> members;
  Group *group = nullptr;
};

} // namespace

int64_t workspaceBytes(const CollectiveCall &call) {
  return workspaceOf(call).total();
}

Result<HostWork> prepareCollective(const CollectiveCall &call,
                                   const RankLayout &layout,
                                   Communicator &communicator) {
  return Preparer(call, layout, communicator).prepare();
}

} // namespace tandem

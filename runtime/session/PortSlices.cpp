#include "runtime/session/PortSlices.h"

#include <algorithm>
#include <set>

namespace tandem {
namespace {

const fb::Entry &entryOf(const Plan &plan, uint32_t entry) {
  return *plan.table().entries()->Get(entry);
}

template <typename Ports>
PortTensors emptyTensors(const Plan &plan, const Ports &ports) {
  PortTensors tensors;
  for (const fb::Port *port : ports) {
    const TensorType &type = plan.type(port->type());
    tensors.emplace_back(type.dtype, type.shape);
  }
  return tensors;
}

/// The stage whose copy of `port` counts: rank 0's where it has one.
uint32_t givingStage(const Plan &plan, const fb::Port &port) {
  if (port.values()->Get(plan.stageOf(0)) != kNone)
    return plan.stageOf(0);
  for (uint32_t stage = 0; stage < plan.stages(); ++stage)
    if (port.values()->Get(stage) != kNone)
      return stage;
  return kNone;
}

std::vector<int64_t> denseOrigin(size_t rank) {
  return std::vector<int64_t>(rank, 0);
}

} // namespace

PortTensors emptyInputs(const Plan &plan, uint32_t entry) {
  return emptyTensors(plan, *entryOf(plan, entry).inputs());
}

PortTensors emptyOutputs(const Plan &plan, uint32_t entry) {
  return emptyTensors(plan, *entryOf(plan, entry).outputs());
}

std::vector<int64_t> givers(const Plan &plan, uint32_t entry, uint32_t port) {
  const fb::Port &table = *entryOf(plan, entry).outputs()->Get(port);
  const TensorType &type = plan.type(table.type());
  uint32_t stage = givingStage(plan, table);
  std::vector<int64_t> ranks;
  std::set<std::vector<int64_t>> given;
  for (int64_t rank = 0; rank < plan.numRanks(); ++rank) {
    if (plan.stageOf(rank) != stage)
      continue;
    RankLayout layout{plan.mesh(), rank};
    std::vector<int64_t> box;
    bool empty = false;
    for (size_t dim = 0; dim < type.shape.size(); ++dim) {
      Extent extent = layout.extent(type, dim);
      box.push_back(extent.begin);
      empty |= extent.size == 0;
    }
    if (!empty && given.insert(box).second)
      ranks.push_back(rank);
  }
  return ranks;
}

int64_t PortSlices::Slice::bytes() const {
  int64_t bytes = elementBytes;
  for (int64_t extent : size)
    bytes *= extent;
  return bytes;
}

PortSlices::Slice PortSlices::sliceOf(size_t port, const TensorArg &piece) {
  Slice slice;
  slice.port = port;
  slice.local = piece.data;
  slice.elementBytes = blockBytes(piece.dtype);
  slice.inLocal.begin = denseOrigin(piece.dims.size());
  for (const TensorDim &dim : piece.dims) {
    slice.inLocal.shape.push_back(dim.capacity);
    slice.inWhole.shape.push_back(dim.global);
    slice.inWhole.begin.push_back(dim.begin);
    slice.size.push_back(dim.valid);
  }
  return slice;
}

PortSlices::PortSlices(const Plan &plan, uint32_t entry,
                       const Executor &executor) {
  const fb::Entry &table = entryOf(plan, entry);
  for (uint32_t port = 0; port < table.inputs()->size(); ++port)
    if (std::optional<TensorArg> piece = executor.input(entry, port))
      inputs.push_back(sliceOf(port, *piece));
  for (uint32_t port = 0; port < table.outputs()->size(); ++port) {
    std::vector<int64_t> ranks = givers(plan, entry, port);
    std::optional<TensorArg> piece = executor.output(entry, port);
    if (piece &&
        std::binary_search(ranks.begin(), ranks.end(), executor.rank()))
      outputs.push_back(sliceOf(port, *piece));
  }
}

void PortSlices::placeInputs(const PortTensors &tensors) const {
  for (const Slice &slice : inputs)
    copyBox(tensors[slice.port].data.data(), slice.inWhole, slice.local,
            slice.inLocal, slice.size, slice.elementBytes);
}

void PortSlices::giveOutputs(PortTensors &tensors) const {
  for (const Slice &slice : outputs)
    copyBox(slice.local, slice.inLocal, tensors[slice.port].data.data(),
            slice.inWhole, slice.size, slice.elementBytes);
}

std::string PortSlices::packOutputs() const {
  std::string message;
  for (const Slice &slice : outputs) {
    size_t at = message.size();
    message.resize(at + static_cast<size_t>(slice.bytes()));
    copyBox(slice.local, slice.inLocal,
            reinterpret_cast<std::byte *>(&message[at]),
            {slice.size, denseOrigin(slice.size.size())}, slice.size,
            slice.elementBytes);
  }
  return message;
}

Status PortSlices::unpackOutputs(const Plan &plan, uint32_t entry, int64_t rank,
                                 const std::string &message,
                                 PortTensors &outputs) {
  size_t at = 0;
  RankLayout layout{plan.mesh(), rank};
  for (uint32_t port = 0; port < outputs.size(); ++port) {
    std::vector<int64_t> ranks = givers(plan, entry, port);
    if (!std::binary_search(ranks.begin(), ranks.end(), rank))
      continue;
    const fb::Port &table = *entryOf(plan, entry).outputs()->Get(port);
    Slice slice = sliceOf(port, layout.tensor(plan.type(table.type()), {}));
    size_t bytes = static_cast<size_t>(slice.bytes());
    if (message.size() - at < bytes)
      return Status::rankFailed("rank " + std::to_string(rank) + " gave " +
                                std::to_string(message.size()) +
                                " bytes of outputs, more were expected");
    copyBox(reinterpret_cast<const std::byte *>(&message[at]),
            {slice.size, denseOrigin(slice.size.size())},
            outputs[port].data.data(), slice.inWhole, slice.size,
            slice.elementBytes);
    at += bytes;
  }
  return Status();
}

} // namespace tandem

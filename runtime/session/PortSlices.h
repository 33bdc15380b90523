//===- PortSlices.h - Inputs cut up, outputs put together -------*- C++ -*-===//
//
// Callers deal in whole tensors, ranks in pieces. For one entry and one rank
// this says which box of each whole input goes where in the rank's memory,
// and which boxes of the whole outputs this rank is the one to give: of ranks
// that hold the same piece the first does, and rank 0's stage comes first.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_PORTSLICES_H
#define TANDEM_RUNTIME_SESSION_PORTSLICES_H

#include "runtime/exec/Executor.h"
#include "runtime/session/HostTensor.h"

namespace tandem {

/// By port of an entry; the tensors have the ports' types and global shapes.
using PortTensors = std::vector<HostTensor>;

/// Zeros of the ports' types and shapes.
PortTensors emptyInputs(const Plan &plan, uint32_t entry);
PortTensors emptyOutputs(const Plan &plan, uint32_t entry);

/// The ranks that give output `port` of `entry`, ascending: their pieces tile
/// it.
std::vector<int64_t> givers(const Plan &plan, uint32_t entry, uint32_t port);

class PortSlices {
public:
  PortSlices(const Plan &plan, uint32_t entry, const Executor &executor);

  void placeInputs(const PortTensors &inputs) const;
  /// Copies what this rank gives into the whole tensors.
  void giveOutputs(PortTensors &outputs) const;
  /// The same to and from a message: the boxes dense, one behind the other.
  std::string packOutputs() const;
  /// Unpacks what `rank` packed. Refuses a message of another length.
  static Status unpackOutputs(const Plan &plan, uint32_t entry, int64_t rank,
                              const std::string &message, PortTensors &outputs);

private:
  struct Slice {
    size_t port;
    std::byte *local;
    BoxPlace inLocal, inWhole;
    std::vector<int64_t> size;
    int64_t elementBytes;
    int64_t bytes() const;
  };
  static Slice sliceOf(size_t port, const TensorArg &piece);
  std::vector<Slice> inputs, outputs;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_PORTSLICES_H

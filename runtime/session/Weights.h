//===- Weights.h - A plan's parameters, from files to the arena -*- C++ -*-===//
//
// A plan names its weight files with fingerprints and its parameters as views
// of stored tensors. `openWeights` finds the files, where they were or in
// another place, and refuses others; `drawnWeights` are those of a new model.
// `loadWeights` reads or draws, for each parameter of a rank's stage, that
// rank's slice only.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_WEIGHTS_H
#define TANDEM_RUNTIME_SESSION_WEIGHTS_H

#include "runtime/exec/Executor.h"
#include "runtime/files/ReadView.h"

#include <atomic>

namespace tandem {

/// The plan's weight files, opened and checked against it, or a seed.
class Weights {
public:
  /// Writes a view of the stored tensor behind `parameter` as readView does.
  Status read(const fb::Parameter &parameter, const StridedView &view, DType to,
              std::byte *out, const std::vector<int64_t> &outStrides) const;

private:
  friend Result<Weights> openWeights(const Plan &, const std::string &);
  friend Weights drawnWeights(uint64_t seed);
  std::vector<TensorStore> stores;
  std::optional<uint64_t> seed;
};

/// Opens the files that `plan` names, or those of the same names in the
/// directory (or the one file) `elsewhere` unless that is empty. Refuses
/// files whose fingerprint is another's and stored tensors that are not as
/// the plan says.
Result<Weights> openWeights(const Plan &plan, const std::string &elsewhere);

/// Those that `seed` gives a new model, by the parameters' names and initial
/// distributions.
Weights drawnWeights(uint64_t seed);

/// Bytes of parameters, counted by the ranks' threads as they load.
struct LoadProgress {
  std::atomic<int64_t> done{0};
  std::atomic<int64_t> total{0};
};

/// Fills the parameters that `executor`'s stage holds, on `threads`. Padding
/// stays as it is: zeros, in a fresh executor. Each is a `load` for `fault`.
Status loadWeights(const Plan &plan, const Weights &weights, Executor &executor,
                   FaultPoint &fault, ThreadPool &threads,
                   LoadProgress &progress);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_WEIGHTS_H

//===- Exchange.h - Collectives on the tensors of all ranks -----*- C++ -*-===//

#ifndef TANDEM_IR_REFERENCE_EXCHANGE_H
#define TANDEM_IR_REFERENCE_EXCHANGE_H

#include "ir/Dialect.h"
#include "runtime/mesh/Collectives.h"

#include <map>
#include <optional>

namespace tandem {

/// The collective that an operation is, nothing for others (and for send and
/// recv, which are not calls of a group).
std::optional<Collective> collectiveOf(mlir::Operation *op, const Mesh &mesh);

/// One rank's part in a collective.
struct Participant {
  mlir::Operation *op = nullptr; ///< Same kind and axes on all.
  const Tensor *input = nullptr;
};

/// The results of all `participants` (by rank), each group on its own; terms
/// are combined in rank order. Emits an error at an operation whose result
/// needs a lane that no rank of its group holds, or whose group is not whole.
mlir::FailureOr<std::map<int64_t, Tensor>>
communicate(const std::map<int64_t, Participant> &participants,
            const Mesh &mesh);

} // namespace tandem

#endif // TANDEM_IR_REFERENCE_EXCHANGE_H

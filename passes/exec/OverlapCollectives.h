//===- OverlapCollectives.h - Collectives beside other work -----*- C++ -*-===//
//
// A collective whose result is first needed later runs on a stream of its own,
// between events, while stream 0 goes on:
//
//   record 0 on 0;  wait 0 on 1          what it reads is there
//   communicate "all_gather" ... {stream = 1}
//   record 1 on 1
//   launch ...                           beside it
//   wait 1 on 0 for (its buffers)        before its result is used
//
// To come by such work a gather of what is there before its action goes ahead
// of the layer before its own, and what uses a reduction goes behind the layer
// after its own. Nothing leaves its action.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_EXEC_OVERLAPCOLLECTIVES_H
#define TANDEM_PASSES_EXEC_OVERLAPCOLLECTIVES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tandem {

/// On `stream`. Returns how many events that takes, which are the first.
int64_t overlapCollectives(mlir::func::FuncOp function, int64_t stream);

} // namespace tandem

#endif // TANDEM_PASSES_EXEC_OVERLAPCOLLECTIVES_H

//===- Advice.h - What annotations leave repeated ---------------*- C++ -*-===//
//
// What it is: a warning where ranks compute the same or move more than they
// would with one more annotation. Tried are the inputs, and the parameters
// outside layers, that have no annotation: one axis more on one dimension at a
// time, as long as that helps.
//
//   the ranks of "dp" repeat work: 2.00 x the flops of one rank alone, and
//   14155776 bytes a device; annotating input_ids : [{"dp"}, {}] would make
//   that 1.00 x and 7077888
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_ADVICE_H
#define TANDEM_PASSES_PROPAGATE_ADVICE_H

#include "passes/propagate/ModuleGraph.h"

namespace tandem {

/// Warns about what `graph`, decided with `options`, repeats.
void advise(mlir::ModuleOp module, ModuleGraph &graph,
            const PropagationOptions &options, ReshardPaths &paths);

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_ADVICE_H

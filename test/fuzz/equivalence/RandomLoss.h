//===- RandomLoss.h - A random graph with a loss to differentiate -*- C++
//-*-===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMLOSS_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMLOSS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tandem::test {

/// Makes the results of @f of `module`, a random case, a loss: each float's
/// lanes are weighed and added up. Arguments that are floats become parameters
/// or stay inputs. With `microbatches` above 0 some inputs are cut into so
/// many, what depends on them is summed over them, and the rest is used in
/// each or once. The function carries `tandem.differentiate`. False where no
/// result is a float, or no argument.
bool makeLoss(mlir::ModuleOp module, uint64_t seed, int64_t microbatches);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMLOSS_H

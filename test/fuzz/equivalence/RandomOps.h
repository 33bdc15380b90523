//===- RandomOps.h - One maker for each kind of operation -------*- C++ -*-===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMOPS_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMOPS_H

#include "test/fuzz/equivalence/RandomGraph.h"

namespace tandem::test {

/// Adds one operation, with what it needs around it, to the graph; nothing
/// where what was drawn would be too large.
void makeRandomOperation(RandomGraph &graph);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMOPS_H

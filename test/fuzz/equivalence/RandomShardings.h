//===- RandomShardings.h - Meshes and shardings drawn at random -*- C++ -*-===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMSHARDINGS_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMSHARDINGS_H

#include "runtime/mesh/Sharding.h"
#include "test/fuzz/equivalence/Random.h"

namespace tandem::test {

/// 1 to 4 axes, some of size 1, 2 to 8 ranks; one mesh in five has stages.
Mesh randomMesh(Random &random);

/// All axes but `pp`, or all parts of them, in any order.
AxisList randomParts(const Mesh &mesh, Random &random);

/// A sharding of a tensor of `rank` dimensions: each axis but `pp`, or each
/// part of one, splits some dimension, is declared replicated, is unreduced
/// where that is allowed, or is left out; dimensions are open or closed.
Sharding randomSharding(size_t rank, bool mayBeUnreduced, const Mesh &mesh,
                        Random &random);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_RANDOMSHARDINGS_H

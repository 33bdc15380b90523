//===- RandomModules.h - Small modules with random shardings --------------===//
//
// Modules of phase 1 whose sizes do not divide by those of the meshes, and
// shardings drawn for them, so that every way to split an operation is met:
// uneven and empty pieces, parts of axes, unreduced arguments.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_PASSES_RANDOMMODULES_H
#define TANDEM_TEST_PASSES_RANDOMMODULES_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <random>

namespace tandem::test {

struct Sample {
  const char *name;
  const char *text; ///< One function, @f, without a mesh.
};

const std::vector<Sample> &samples();
/// Meshes to split them over.
const std::vector<const char *> &sampleMeshes();

using Random = std::mt19937;

/// Names, which stages know arguments and results by. Floats become
/// parameters but the first, which is an input as integers are; with
/// `allInputs` nothing becomes a parameter.
void setNames(mlir::ModuleOp module, bool allInputs = false);

/// The mesh, four layers, and shardings on half of the arguments and results.
/// With `mayBeUnreduced` arguments may be unreduced over some axes.
void split(mlir::ModuleOp module, const Mesh &mesh, Random &random,
           bool mayBeUnreduced = true);

} // namespace tandem::test

#endif // TANDEM_TEST_PASSES_RANDOMMODULES_H

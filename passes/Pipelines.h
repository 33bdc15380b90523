//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//

#ifndef TANDEM_PASSES_PIPELINES_H
#define TANDEM_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace tandem {

/// One step of compilation: its name is that of its pass without `tandem-`.
struct CompileStep {
  std::string name;
  void (*add)(mlir::OpPassManager &);
};

/// All steps from an annotated phase-1 module to placed buffers, in order.
const std::vector<CompileStep> &compileSteps();

/// Adds the steps behind `from` (all when empty) up to and with `to` (the last
/// when empty). Refuses a name that is no step, listing them.
std::string addCompileSteps(mlir::OpPassManager &passes,
                            const std::string &from, const std::string &to);

/// Registers every pass, and the pipelines --tandem-shard, --tandem-partition,
/// --tandem-pipeline and --tandem-compile, which end where their names say;
/// each takes `from=STEP` and `to=STEP`.
void registerPassesAndPipelines();

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINES_H

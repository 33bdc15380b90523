#include "passes/Pipelines.h"

#include "passes/exec/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/propagate/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tandem {

const std::vector<CompileStep> &compileSteps() {
  static const std::vector<CompileStep> steps = {
      {"canonicalize",
       [](OpPassManager &p) { p.addPass(createCanonicalizerPass()); }},
      {"assign-stages",
       [](OpPassManager &p) { p.addPass(createAssignStages()); }},
      {"propagate-shardings",
       [](OpPassManager &p) { p.addPass(createPropagateShardings()); }},
      {"insert-reshards",
       [](OpPassManager &p) { p.addPass(createInsertReshards()); }},
      {"partition-module",
       [](OpPassManager &p) { p.addPass(createPartition()); }},
      {"combine-collectives",
       [](OpPassManager &p) {
         p.addNestedPass<func::FuncOp>(createCombineCollectives());
       }},
      {"split-stages",
       [](OpPassManager &p) { p.addPass(createSplitStages()); }},
      {"lower-to-exec",
       [](OpPassManager &p) { p.addPass(createLowerToExec()); }},
      {"place-buffers",
       [](OpPassManager &p) { p.addPass(createPlaceBuffers()); }},
  };
  return steps;
}

namespace {

int indexOf(const std::string &name) {
  const std::vector<CompileStep> &steps = compileSteps();
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].name == name || "tandem-" + steps[i].name == name)
      return static_cast<int>(i);
  return -1;
}

std::string unknownStep(const std::string &name) {
  std::string text = "no step '" + name + "'; the steps are";
  for (const CompileStep &step : compileSteps())
    text += " " + step.name;
  return text;
}

struct StepOptions : PassPipelineOptions<StepOptions> {
  Option<std::string> from{*this, "from",
                           llvm::cl::desc("start behind this step")};
  Option<std::string> to{*this, "to", llvm::cl::desc("stop with this step")};
};

/// `last` is where the pipeline ends when nothing else is said.
void registerPipeline(StringRef name, StringRef description, const char *last) {
  PassPipelineRegistration<StepOptions>(
      name, description, [last](OpPassManager &passes, const StepOptions &o) {
        std::string error = addCompileSteps(
            passes, o.from, o.to.empty() ? std::string(last) : o.to.getValue());
        if (!error.empty())
          llvm::report_fatal_error(llvm::Twine(error),
                                   /*gen_crash_diag=*/false);
      });
}

} // namespace

std::string addCompileSteps(OpPassManager &passes, const std::string &from,
                            const std::string &to) {
  int first = 0, last = static_cast<int>(compileSteps().size()) - 1;
  if (!from.empty()) {
    if (indexOf(from) < 0)
      return unknownStep(from);
    first = indexOf(from) + 1;
  }
  if (!to.empty()) {
    last = indexOf(to);
    if (last < 0)
      return unknownStep(to);
  }
  for (int i = first; i <= last; ++i)
    compileSteps()[i].add(passes);
  return "";
}

void registerPassesAndPipelines() {
  registerTandemPropagatePasses();
  registerTandemPartitionPasses();
  registerTandemPipelinePasses();
  registerTandemExecPasses();
  registerPipeline("tandem-shard", "annotations to a sharding on every value",
                   "propagate-shardings");
  registerPipeline("tandem-partition", "to local shapes and collectives",
                   "combine-collectives");
  registerPipeline("tandem-pipeline", "to one function for each stage",
                   "split-stages");
  registerPipeline("tandem-compile", "to placed buffers", "place-buffers");
}

} // namespace tandem

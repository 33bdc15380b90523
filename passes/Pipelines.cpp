#include "passes/Pipelines.h"

#include "passes/autodiff/Passes.h"
#include "passes/exec/Passes.h"
#include "passes/import/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/propagate/Passes.h"
#include "passes/verify/Passes.h"
#include "runtime/base/Suggest.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace tandem {

namespace {

template <unsigned phase> void verifyPhase(OpPassManager &passes) {
  VerifyPhaseOptions options;
  options.phase = phase;
  passes.addPass(createVerifyPhase(options));
}

template <auto create> void add(OpPassManager &passes) {
  passes.addPass(create());
}

std::unique_ptr<Pass> canonicalizer() { return createCanonicalizerPass(); }
std::unique_ptr<Pass> propagateShardings() {
  return createPropagateShardings();
}

} // namespace

const std::vector<CompileStep> &compileSteps() {
  static const std::vector<CompileStep> steps = {
      {"differentiate", add<createDifferentiate>},
      {"add-optimizer", add<createAddOptimizer>},
      {"canonicalize", add<canonicalizer>},
      {"fix-sums", add<createFixSums>},
      {"verify-global", verifyPhase<1>},
      {"assign-stages", add<createAssignStages>},
      {"propagate-shardings", add<propagateShardings>},
      {"insert-reshards", add<createInsertReshards>},
      {"partition-module", add<createPartition>},
      {"combine-collectives", add<createCombineCollectives>},
      {"recompute", add<createRecompute>},
      {"verify-local", verifyPhase<2>},
      {"split-stages", add<createSplitStages>},
      {"verify-staged", verifyPhase<3>},
      {"lower-to-exec", add<createLowerToExec>},
      {"assign-streams", add<createAssignStreams>},
      {"place-buffers", add<createPlaceBuffers>},
      {"verify-exec", verifyPhase<4>},
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
  std::vector<std::string> names;
  for (const CompileStep &step : compileSteps()) {
    names.push_back(step.name);
    text += " " + step.name;
  }
  return text + didYouMean(name, names);
}

struct StepOptions : PassPipelineOptions<StepOptions> {
  Option<std::string> from{*this, "from",
                           llvm::cl::desc("start behind this step")};
  Option<std::string> to{*this, "to", llvm::cl::desc("stop with this step")};
};

/// `last` is where the pipeline ends when nothing else is said. Registered by
/// hand, for the short form of MLIR's registration cannot refuse a step.
void registerPipeline(StringRef name, StringRef description, const char *last) {
  using OnError = function_ref<LogicalResult(const Twine &)>;
  registerPassPipeline(
      name, description,
      [last](OpPassManager &passes, StringRef text, OnError onError) {
        StepOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        std::string to = options.to.getValue();
        std::string error =
            addCompileSteps(passes, options.from, to.empty() ? last : to);
        return error.empty() ? success() : onError(error);
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> use) {
        use(StepOptions());
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
  registerTandemImportPasses();
  registerTandemAutodiffPasses();
  registerTandemPropagatePasses();
  registerTandemPartitionPasses();
  registerTandemPipelinePasses();
  registerTandemExecPasses();
  registerTandemVerifyPasses();
  registerPipeline("tandem-shard", "annotations to a sharding on every value",
                   "propagate-shardings");
  registerPipeline("tandem-partition", "to local shapes and collectives",
                   "verify-local");
  registerPipeline("tandem-pipeline", "to one function for each stage",
                   "verify-staged");
  registerPipeline("tandem-compile", "to placed buffers", "verify-exec");
}

} // namespace tandem

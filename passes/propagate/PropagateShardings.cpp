#include "passes/propagate/Advice.h"
#include "passes/propagate/Passes.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/propagate/Passes.h.inc"

namespace {

struct PropagateShardingsPass
    : impl::PropagateShardingsBase<PropagateShardingsPass> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!meshNameOf(module)) {
      module.emitError("no tandem.mesh in the module");
      return signalPassFailure();
    }
    PropagationOptions options;
    options.userPriorities = userPriorities;
    options.opPriorities = opPriorities;
    options.aggressive = aggressive;
    options.openOps = openOps;
    ModuleGraph graph(module);
    ReshardPaths paths(meshOf(module));
    if (failed(graph.build()))
      return signalPassFailure();
    if (Status status = graph.decide(options, paths); !status.ok()) {
      module.emitError("no way to lay the tensors out: ") << status.message();
      return signalPassFailure();
    }
    graph.operations().report();
    advise(module, graph, options, paths);
    graph.write();
  }
};

} // namespace
} // namespace tandem

#include "passes/propagate/OperationGraph.h"
#include "passes/propagate/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/propagate/Passes.h.inc"

namespace {

/// A module's functions as one graph, and back.
class ModuleGraph {
public:
  explicit ModuleGraph(ModuleOp module)
      : module(module), mesh(meshOf(module)), graph(mesh, meshNameOf(module)) {}

  LogicalResult build() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(addFunction(function)))
        return failure();
    return success();
  }

  LogicalResult decide(const PropagationOptions &options) {
    ReshardPaths paths(mesh);
    Status status = graph.decide(options, paths);
    if (!status.ok())
      return module.emitError("no way to lay the tensors out: ")
             << status.message();
    graph.report();
    return success();
  }

  void write() {
    for (auto function : module.getOps<func::FuncOp>())
      writeFunction(function);
    graph.write();
  }

private:
  /// Arguments with one parameter or state name are one value.
  void addArgument(func::FuncOp function, BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    Attribute identity = function.getArgAttr(index, TandemDialect::kParameter);
    if (!identity)
      identity = function.getArgAttr(index, TandemDialect::kState);
    auto it = shared.end();
    bool known = false;
    if (identity) {
      auto key = std::make_pair(identity, argument.getType());
      it = shared.find(key);
      known = it != shared.end();
      if (!known)
        it = shared.insert({key, graph.tensorOf(argument)}).first;
      graph.setTensor(argument, it->second);
    }
    int tensor = graph.tensorOf(argument);
    annotate(tensor, function.getArgAttrOfType<ShardingAttr>(
                         index, TandemDialect::kSharding));
    if (!known)
      graph.addSource(tensor);
  }

  void annotate(int tensor, ShardingAttr sharding) {
    if (sharding)
      graph.annotate(tensor, sharding.getValue(mesh));
  }

  LogicalResult addFunction(func::FuncOp function) {
    if (function.isExternal())
      return success();
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      if (!isTensor(argument.getType()))
        return function.emitOpError()
               << "argument " << argument.getArgNumber() << " is "
               << argument.getType()
               << ", expected a tensor of static sizes and an element type "
                  "that plans know";
      addArgument(function, argument);
    }
    for (Operation &op : body.without_terminator())
      if (failed(graph.addOperation(&op)))
        return failure();
    return addResults(function);
  }

  /// Results lie as annotated; one that replaces a state as the state does.
  LogicalResult addResults(func::FuncOp function) {
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      auto sharding = function.getResultAttrOfType<ShardingAttr>(
          i, TandemDialect::kSharding);
      int result = graph.addTensor(value.getType(), value.getLoc());
      if (auto state = stateOf(function, i)) {
        if (sharding && failed(annotateState(function, *state, sharding)))
          return failure();
        graph.tie(graph.tensorOf(function.getArgument(*state)), result);
      } else {
        annotate(result, sharding);
      }
      results[{terminator, i}] = result;
      graph.addTarget(terminator, graph.tensorOf(value), result);
    }
    return success();
  }

  /// The argument that result `index` replaces, if it does.
  static std::optional<unsigned> stateOf(func::FuncOp function,
                                         unsigned index) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto aliases = function.getArgAttrOfType<IntegerAttr>(
              i, TandemDialect::kAliases))
        if (aliases.getInt() == index)
          return i;
    return std::nullopt;
  }

  /// What is said of the result is said of the state.
  LogicalResult annotateState(func::FuncOp function, unsigned argument,
                              ShardingAttr sharding) {
    auto own = function.getArgAttrOfType<ShardingAttr>(
        argument, TandemDialect::kSharding);
    if (own && own != sharding)
      return function.emitOpError()
             << "argument " << argument << " has " << own
             << ", the result that replaces it " << sharding;
    annotate(graph.tensorOf(function.getArgument(argument)), sharding);
    return success();
  }

  void writeFunction(func::FuncOp function) {
    if (function.isExternal())
      return;
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      function.setArgAttr(argument.getArgNumber(), TandemDialect::kSharding,
                          graph.shardingOf(graph.tensorOf(argument)));
    Operation *terminator = body.getTerminator();
    for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
      function.setResultAttr(i, TandemDialect::kSharding,
                             graph.shardingOf(results[{terminator, i}]));
  }

  ModuleOp module;
  Mesh mesh;
  OperationGraph graph;
  DenseMap<std::pair<Attribute, Type>, int> shared;
  DenseMap<std::pair<Operation *, unsigned>, int> results;
};

struct PropagateShardingsPass
    : impl::PropagateShardingsBase<PropagateShardingsPass> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!meshNameOf(module)) {
      module.emitError("no tandem.mesh in the module");
      return signalPassFailure();
    }
    ModuleGraph graph(module);
    if (failed(graph.build()))
      return signalPassFailure();
    PropagationOptions options;
    options.userPriorities = userPriorities;
    options.opPriorities = opPriorities;
    options.aggressive = aggressive;
    options.openOps = openOps;
    if (failed(graph.decide(options)))
      return signalPassFailure();
    graph.write();
  }
};

} // namespace
} // namespace tandem

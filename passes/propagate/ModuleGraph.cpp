#include "passes/propagate/ModuleGraph.h"

#include "ir/Microbatches.h"
#include "ir/PortAttributes.h"

using namespace mlir;

namespace tandem {
namespace {

/// The argument that result `index` replaces, if it does.
std::optional<unsigned> stateOf(func::FuncOp function, unsigned index) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto aliases =
            function.getArgAttrOfType<IntegerAttr>(i, TandemDialect::kAliases))
      if (aliases.getInt() == index)
        return i;
  return std::nullopt;
}

} // namespace

StringRef argumentName(func::FuncOp function, unsigned index) {
  if (auto view =
          function.getArgAttrOfType<ViewAttr>(index, TandemDialect::kParameter))
    return view.getKey();
  for (StringRef name : {TandemDialect::kInput, TandemDialect::kState})
    if (auto text = function.getArgAttrOfType<StringAttr>(index, name))
      return text.getValue();
  return "";
}

ModuleGraph::ModuleGraph(ModuleOp module, llvm::StringMap<Sharding> added)
    : module(module), mesh(meshOf(module)), added(std::move(added)),
      graph(mesh, meshNameOf(module)) {}

LogicalResult ModuleGraph::build() {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(addFunction(function)))
      return failure();
  return success();
}

void ModuleGraph::write() {
  for (auto function : module.getOps<func::FuncOp>())
    writeFunction(function);
  graph.write();
}

/// Arguments with one parameter or state name are one value.
LogicalResult ModuleGraph::addArgument(func::FuncOp function,
                                       BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  Attribute identity = function.getArgAttr(index, TandemDialect::kParameter);
  if (!identity)
    identity = function.getArgAttr(index, TandemDialect::kState);
  bool known = false;
  if (identity) {
    auto key = std::make_pair(identity, argument.getType());
    auto it = shared.find(key);
    known = it != shared.end();
    if (known)
      graph.setTensor(argument, it->second);
    else
      shared[key] = graph.tensorOf(argument);
  }
  int tensor = graph.tensorOf(argument);
  auto sharding =
      function.getArgAttrOfType<ShardingAttr>(index, TandemDialect::kSharding);
  auto more = added.find(argumentName(function, index));
  if (sharding) {
    auto [first, isFirst] = said.try_emplace(tensor, sharding);
    if (!isFirst && first->second != sharding)
      return function.emitOpError()
             << "argument " << index << " has " << sharding
             << ", the same parameter or state elsewhere " << first->second
             << "; annotate them alike or one of them alone";
    graph.annotate(tensor, sharding.getValue(mesh));
  } else if (!said.count(tensor) && more != added.end() &&
             more->second.dims.size() == globalShape(argument.getType()).size())
    graph.annotate(tensor, more->second);
  if (function.getArgAttr(index, TandemDialect::kParameter))
    graph.setParameter(tensor);
  if (!known)
    graph.addSource(tensor);
  return success();
}

LogicalResult ModuleGraph::addFunction(func::FuncOp function) {
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
    if (failed(addArgument(function, argument)))
      return failure();
  }
  StepParts parts(function);
  if (failed(parts.verify()))
    return failure();
  for (Operation &op : body.without_terminator())
    if (failed(graph.addOperation(&op, parts.timesOf(&op))))
      return failure();
  return addResults(function);
}

/// Results lie as annotated; one that replaces a state as the state does.
LogicalResult ModuleGraph::addResults(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto sharding =
        function.getResultAttrOfType<ShardingAttr>(i, TandemDialect::kSharding);
    int result = graph.addTensor(value.getType(), value.getLoc());
    if (auto state = stateOf(function, i)) {
      if (sharding && failed(annotateState(function, *state, sharding)))
        return failure();
      graph.tie(graph.tensorOf(function.getArgument(*state)), result);
    } else if (sharding) {
      graph.annotate(result, sharding.getValue(mesh));
    }
    results[{terminator, i}] = result;
    graph.addTarget(terminator, graph.tensorOf(value), result);
  }
  return success();
}

/// What is said of the result is said of the state.
LogicalResult ModuleGraph::annotateState(func::FuncOp function,
                                         unsigned argument,
                                         ShardingAttr sharding) {
  int tensor = graph.tensorOf(function.getArgument(argument));
  auto [first, isFirst] = said.try_emplace(tensor, sharding);
  if (!isFirst && first->second != sharding)
    return function.emitOpError()
           << "argument " << argument << " has " << first->second
           << ", the result that replaces it " << sharding;
  graph.annotate(tensor, sharding.getValue(mesh));
  return success();
}

void ModuleGraph::writeFunction(func::FuncOp function) {
  if (function.isExternal())
    return;
  Block &body = function.getBody().front();
  PortAttributes ports(function);
  for (BlockArgument argument : body.getArguments())
    ports.argument(argument.getArgNumber())
        .set(TandemDialect::kSharding,
             graph.shardingOf(graph.tensorOf(argument)));
  Operation *terminator = body.getTerminator();
  for (unsigned i = 0; i < terminator->getNumOperands(); ++i)
    ports.result(i).set(TandemDialect::kSharding,
                        graph.shardingOf(results[{terminator, i}]));
  ports.write();
}

} // namespace tandem

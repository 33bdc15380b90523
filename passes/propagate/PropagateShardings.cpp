#include "ir/Identity.h"
#include "passes/propagate/Passes.h"
#include "passes/propagate/Propagation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "passes/propagate/Passes.h.inc"

namespace {

/// The module as a PropagationGraph, and back.
class ModuleGraph {
public:
  explicit ModuleGraph(ModuleOp module)
      : module(module), mesh(meshOf(module)), meshName(meshNameOf(module)),
        graph(mesh) {}

  LogicalResult build() {
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(addFunction(function)))
        return failure();
    return success();
  }

  void run(const PropagationOptions &options) { graph.run(options); }

  void report() {
    for (const PropagationConflict &conflict : graph.conflicts()) {
      Operation *op = operations[conflict.op];
      InFlightDiagnostic remark = op->emitRemark()
                                  << "tensors do not agree on a factor: ";
      auto print = [&](const AxisList &axes) {
        remark << "{";
        for (size_t i = 0; i < axes.size(); ++i)
          remark << (i ? ", " : "") << toString(axes[i], mesh);
        remark << "}";
      };
      print(conflict.firstAxes);
      remark << " against ";
      print(conflict.secondAxes);
      remark.attachNote(locations[conflict.first]) << "the first is here";
      remark.attachNote(locations[conflict.second]) << "the second is here";
    }
  }

  void write() {
    for (auto function : module.getOps<func::FuncOp>())
      writeFunction(function);
  }

private:
  int tensorOf(Value value) {
    auto [it, added] = tensors.try_emplace(value, 0);
    if (added)
      it->second = addTensor(value.getType(), value.getLoc());
    return it->second;
  }

  int addTensor(Type type, Location loc) {
    locations.push_back(loc);
    return graph.addTensor(toVector(globalShape(type)));
  }

  /// Arguments with one parameter or state name are one value.
  void addArgument(func::FuncOp function, BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    Attribute identity = function.getArgAttr(index, TandemDialect::kParameter);
    if (!identity)
      identity = function.getArgAttr(index, TandemDialect::kState);
    if (identity) {
      auto key = std::make_pair(identity, argument.getType());
      auto it = shared.find(key);
      if (it == shared.end())
        it = shared.insert({key, tensorOf(argument)}).first;
      tensors[argument] = it->second;
    }
    annotate(tensorOf(argument), function.getArgAttrOfType<ShardingAttr>(
                                     index, TandemDialect::kSharding));
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
    Operation *terminator = body.getTerminator();
    // A result that replaces a state lies as the state does.
    for (BlockArgument argument : body.getArguments())
      if (auto aliases = function.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), TandemDialect::kAliases)) {
        int state = tensorOf(argument); // No reference: the map may grow.
        tensors.try_emplace(terminator->getOperand(aliases.getInt()), state);
      }
    for (Operation &op : body.without_terminator())
      if (failed(addOperation(&op)))
        return failure();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      auto sharding = function.getResultAttrOfType<ShardingAttr>(
          i, TandemDialect::kSharding);
      if (!sharding)
        continue;
      if (auto state = stateOf(function, i)) {
        if (failed(annotateState(function, *state, sharding)))
          return failure();
        continue;
      }
      int result = addTensor(value.getType(), value.getLoc());
      annotate(result, sharding);
      annotatedResults[{terminator, i}] = result;
      addIdentity(terminator, tensorOf(value), result, value.getType());
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
    annotate(tensors[function.getArgument(argument)], sharding);
    return success();
  }

  void addIdentity(Operation *op, int from, int to, Type type) {
    std::vector<int64_t> shape = toVector(globalShape(type));
    operations.push_back(op);
    graph.addOp(identityRule(shape), {from}, {to}, true);
  }

  LogicalResult addOperation(Operation *op) {
    auto rule = dyn_cast<ShardingRuleOpInterface>(op);
    if (!rule)
      return op->emitOpError("has no sharding rule: expected an operation on "
                             "global tensors");
    std::vector<int> operands, results;
    for (Value operand : op->getOperands())
      operands.push_back(tensorOf(operand));
    for (Value result : op->getResults())
      results.push_back(tensorOf(result));
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
      annotate(results[0], constraint.getShardingAttr());
    operations.push_back(op);
    graph.addOp(rule.getShardingRule(), std::move(operands), std::move(results),
                rule.isPassThrough());
    return success();
  }

  /// Closed, and without axes of one rank, which split nothing: so there is
  /// one type for each layout. `reduced`: of a value that is given to the
  /// caller, who did not ask for terms.
  ShardingAttr finalSharding(int tensor, bool reduced = false) const {
    Sharding sharding = graph.sharding(tensor);
    sharding.replicated.clear();
    sharding.unreduced = withoutTrivial(sharding.unreduced);
    if (reduced)
      sharding.unreduced.clear();
    for (DimSharding &dim : sharding.dims)
      dim = {withoutTrivial(dim.axes), /*open=*/false, /*priority=*/0};
    return ShardingAttr::get(meshName, sharding, mesh);
  }

  void writeFunction(func::FuncOp function) {
    if (function.isExternal())
      return;
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      function.setArgAttr(argument.getArgNumber(), TandemDialect::kSharding,
                          finalSharding(tensors[argument]));
    for (Operation &op : body.without_terminator()) {
      SmallVector<Attribute> shardings;
      for (Value result : op.getResults())
        shardings.push_back(finalSharding(tensors[result]));
      op.setAttr(TandemDialect::kShardings,
                 ArrayAttr::get(module.getContext(), shardings));
    }
    std::vector<int> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(tensors[value]);
    for (BlockArgument argument : body.getArguments())
      if (auto aliases = function.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), TandemDialect::kAliases))
        results[aliases.getInt()] = tensors[argument];
    for (auto [i, tensor] : llvm::enumerate(results)) {
      auto own = annotatedResults.find({body.getTerminator(), i});
      function.setResultAttr(i, TandemDialect::kSharding,
                             own == annotatedResults.end()
                                 ? finalSharding(tensor, /*reduced=*/true)
                                 : finalSharding(own->second));
    }
  }

  ModuleOp module;
  Mesh mesh;
  FlatSymbolRefAttr meshName;
  PropagationGraph graph;
  DenseMap<Value, int> tensors;
  DenseMap<std::pair<Attribute, Type>, int> shared;
  /// Results that have a sharding of their own, beside that of their value.
  DenseMap<std::pair<Operation *, unsigned>, int> annotatedResults;
  SmallVector<Operation *> operations; ///< By the graph's number.
  SmallVector<Location> locations;     ///< By tensor.
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
    graph.run(options);
    graph.report();
    graph.write();
  }
};

} // namespace
} // namespace tandem

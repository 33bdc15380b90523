#include "ir/Layers.h"
#include "ir/LayoutInvariance.h"
#include "passes/partition/Passes.h"
#include "passes/propagate/OperationGraph.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/partition/Passes.h.inc"

namespace {

class FunctionRewriter {
public:
  FunctionRewriter(func::FuncOp function, const Mesh &mesh,
                   FlatSymbolRefAttr meshName, ReshardPaths &paths)
      : function(function), mesh(mesh), meshName(meshName), paths(paths),
        builder(function.getContext()) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    for (BlockArgument argument : body.getArguments()) {
      auto sharding = function.getArgAttrOfType<ShardingAttr>(
          argument.getArgNumber(), TandemDialect::kSharding);
      if (!sharding)
        return function.emitOpError()
               << "argument " << argument.getArgNumber()
               << " has no 'tandem.sharding'; run propagate-shardings first";
      make(argument, typeOf(argument, sharding.getValue(mesh)));
    }
    for (Operation *op : ops)
      if (failed(visit(op)))
        return failure();
    visitReturn(body.getTerminator());
    for (Value value : values)
      if (failed(serve(value)))
        return failure();
    return success();
  }

private:
  ShardingAttr attrOf(const Sharding &sharding) {
    return ShardingAttr::get(meshName, sharding, mesh);
  }

  static TensorType typeOf(Value value, const Sharding &sharding,
                           ReductionKind kind = ReductionKind::Sum) {
    TensorType type = tensorTypeOf(value.getType(), sharding);
    type.reduction = kind;
    return type;
  }

  /// What `op` is called in causes: a part of a local form as the operation
  /// that it is part of.
  std::string nameOf(Operation *op) const {
    auto it = partOf.find(op);
    return it != partOf.end() ? it->second : op->getName().stripDialect().str();
  }

  void make(Value value, TensorType type) {
    made.try_emplace(value, std::move(type));
    values.push_back(value);
  }

  void need(Operation *op, unsigned index, const Sharding &sharding,
            const Twine &cause) {
    Value value = op->getOperand(index);
    needs[value].push_back(
        {&op->getOpOperand(index), typeOf(value, sharding), cause.str()});
  }

  //===--------------------------------------------------------------------===//
  // What each operation makes and needs
  //===--------------------------------------------------------------------===//

  LogicalResult visit(Operation *op) {
    std::optional<OpChoice> choice = choiceOf(op, mesh);
    if (!choice)
      return op->emitOpError(
          "has no 'tandem.choice'; run propagate-shardings first");
    op->removeAttr(TandemDialect::kChoice);
    auto constraint = dyn_cast<ShardingConstraintOp>(op);
    if (constraint && constraint.getShardingAttr())
      return constrain(constraint);
    ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (rule.factors[f].kind == FactorKind::Selection &&
          !choice->axes[f].empty())
        return expand(op, static_cast<int32_t>(f), rule, *choice);
    if (!choice->first.empty())
      addFirst(op, *choice);
    record(op, cast<ShardingRuleOpInterface>(op).getShardingRule(), *choice);
    return success();
  }

  /// Brings the input to what the constraint says.
  LogicalResult constrain(ShardingConstraintOp op) {
    auto shardings = op->getAttrOfType<ArrayAttr>(TandemDialect::kShardings);
    auto sharding = shardings && shardings.size() == 1
                        ? dyn_cast<ShardingAttr>(shardings[0])
                        : ShardingAttr();
    if (!sharding)
      return op.emitOpError(
          "has no 'tandem.shardings'; run propagate-shardings first");
    need(op, 0, sharding.getValue(mesh), "sharding_constraint");
    make(op.getResult(), typeOf(op.getResult(), sharding.getValue(mesh)));
    return success();
  }

  void record(Operation *op, const ShardingRule &rule, const OpChoice &choice) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      need(op, i, operandSharding(rule, choice, i), nameOf(op) + " operand");
    SmallVector<Attribute> shardings;
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      Sharding sharding = resultSharding(rule, choice, i);
      shardings.push_back(attrOf(sharding));
      make(result, typeOf(result, sharding, reductionKind(rule, choice)));
    }
    op->setAttr(TandemDialect::kShardings, builder.getArrayAttr(shardings));
  }

  /// Takes the terms that are added first into sums of their own, the first
  /// terms of `op`.
  void addFirst(Operation *op, OpChoice &choice) {
    SmallVector<Value> terms;
    for (const std::vector<int32_t> &group : groupsOf(choice))
      terms.push_back(addGroup(op, group, choice));
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      if (!llvm::is_contained(choice.first, static_cast<int32_t>(i)))
        terms.push_back(value);
    op->setOperands(terms);
    choice.first.clear();
    choice.unreduced.assign(terms.size(), {});
  }

  Value addGroup(Operation *op, ArrayRef<int32_t> group,
                 const OpChoice &choice) {
    SmallVector<Value> terms;
    for (int32_t operand : group)
      terms.push_back(op->getOperand(operand));
    builder.setInsertionPoint(op);
    auto inner = SumOp::create(builder, op->getLoc(), terms);
    copyLayerAndStage(op, inner);
    OpChoice waiting{
        choice.axes,
        std::vector<AxisList>(terms.size(), choice.unreduced[group[0]]),
        {}};
    record(inner, cast<ShardingRuleOpInterface>(*inner).getShardingRule(),
           waiting);
    return inner;
  }

  /// Puts the operation's local form in its place.
  LogicalResult expand(Operation *op, int32_t factor, const ShardingRule &rule,
                       const OpChoice &choice) {
    if (int64_t pieces = layoutInvariantPieces(op))
      if (mixesLanes(rule, factor))
        return op->emitOpError("looks at ")
               << rule.factors[factor].size
               << " lanes together, which the layout splits; with "
                  "--layout-invariant "
               << pieces << " they must be whole: take a mesh or annotations "
               << "that do not split them";
    builder.setInsertionPoint(op);
    Operation *before = op->getPrevNode();
    SmallVector<Value> results = cast<PartitionOpInterface>(op).expand(
        builder, factor, sizeOf(choice.axes[factor]));
    SmallVector<Operation *> parts;
    for (Operation *part = op->getPrevNode(); part != before;
         part = part->getPrevNode())
      parts.push_back(part);
    std::reverse(parts.begin(), parts.end());
    OperationGraph graph(mesh, meshName);
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      int tensor = graph.tensorOf(op->getOperand(i));
      graph.annotate(tensor, operandSharding(rule, choice, i));
      graph.addSource(tensor);
    }
    for (Operation *part : parts) {
      if (!isa<ConstantOp>(part))
        copyLayerAndStage(op, part);
      partOf[part] = nameOf(op);
      if (failed(graph.addOperation(part)))
        return failure();
    }
    for (auto [i, value] : llvm::enumerate(results)) {
      int target = graph.addTensor(value.getType(), value.getLoc());
      graph.annotate(target, resultSharding(rule, choice, i));
      graph.addTarget(op->getBlock()->getTerminator(), graph.tensorOf(value),
                      target);
    }
    // The parts lie between what the choice needs and what it makes.
    if (Status status = graph.decide({}, paths); !status.ok())
      return op->emitOpError(status.message());
    graph.write();
    op->replaceAllUsesWith(results);
    op->erase();
    for (Operation *part : parts)
      if (failed(visit(part)))
        return failure();
    return success();
  }

  /// Whether each lane along `factor` depends on all others, as in a norm: a
  /// local form gives it other bits.
  static bool mixesLanes(const ShardingRule &rule, int32_t factor) {
    auto has = [&](const FactorMapping &mapping) {
      return llvm::any_of(mapping.dims, [&](const auto &factors) {
        return llvm::is_contained(factors, factor);
      });
    };
    return llvm::any_of(rule.results, has) &&
           llvm::any_of(rule.operands, [&](const FactorMapping &operand) {
             return has(operand) && !operand.linear;
           });
  }

  void visitReturn(Operation *terminator) {
    for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
      Value value = terminator->getOperand(i);
      auto sharding = function.getResultAttrOfType<ShardingAttr>(
          i, TandemDialect::kSharding);
      need(terminator, i,
           sharding ? sharding.getValue(mesh) : made.at(value).sharding,
           "output");
    }
  }

  //===--------------------------------------------------------------------===//
  // Bringing each value to where it is needed
  //===--------------------------------------------------------------------===//

  struct Need {
    OpOperand *use;
    TensorType type;
    std::string cause;
  };

  LogicalResult serve(Value value) {
    const TensorType &from = made.at(value);
    std::vector<const Need *> targets; // the first of each type
    std::vector<int> numbers;
    for (const Need &need : needs[value]) {
      if (need.type == from || llvm::any_of(targets, [&](const Need *other) {
            return other->type == need.type;
          }))
        continue;
      targets.push_back(&need);
      numbers.push_back(paths.numberOf(need.type));
    }
    auto tree = paths.tree(paths.numberOf(from), numbers);
    if (!tree)
      return refuse(from, *targets[0]);
    SmallVector<Value> settled(targets.size());
    for (int t : tree->order) {
      int parent = tree->parents[t];
      settled[t] = reshard(parent < 0 ? value : settled[parent], *targets[t],
                           from, value);
      if (isForBackward(value, targets[t]->type) &&
          !llvm::is_contained(tree->parents, t))
        settled[t].getDefiningOp()->setAttr(TandemDialect::kBackward,
                                            builder.getUnitAttr());
    }
    for (const Need &need : needs[value])
      for (size_t t = 0; t < targets.size(); ++t)
        if (need.type != from && need.type == targets[t]->type)
          need.use->set(settled[t]);
    return success();
  }

  /// Whether the backward pass alone needs `value` so; then it is brought
  /// there then, and not kept since the forward pass.
  bool isForBackward(Value value, const TensorType &type) {
    return llvm::all_of(needs[value], [&](const Need &need) {
      return need.type != type ||
             need.use->getOwner()->hasAttr(TandemDialect::kBackward);
    });
  }

  LogicalResult refuse(const TensorType &from, const Need &need) {
    return need.use->getOwner()->emitOpError("needs ")
           << need.type.toString(mesh) << " of what lies as "
           << from.toString(mesh) << ": no collectives lead there";
  }

  /// A reshard right behind `input`, so that it dominates every later use.
  Value reshard(Value input, const Need &need, const TensorType &from,
                Value value) {
    bool reduces = !from.sharding.unreduced.empty() && input == value;
    Operation *source = value.getDefiningOp();
    std::string cause = need.cause;
    if (reduces)
      cause = source ? "reduction of " + nameOf(source)
                     : "reduction of an argument";
    builder.setInsertionPointAfterValue(input);
    Location loc = reduces ? value.getLoc() : need.use->getOwner()->getLoc();
    auto op = ReshardOp::create(builder, loc, input.getType(), input,
                                attrOf(need.type.sharding),
                                builder.getStringAttr(cause));
    for (Operation *owner : {source, need.use->getOwner()})
      if (owner && !op->hasAttr(TandemDialect::kLayer))
        copyLayerAndStage(owner, op);
    if (!op->hasAttr(TandemDialect::kLayer))
      if (Operation *first = firstWithLayer(value))
        copyLayerAndStage(first, op);
    return op;
  }

  /// The first operation of a layer that reads `value`; where none does, the
  /// function's first.
  Operation *firstWithLayer(Value value) {
    Operation *first = nullptr;
    for (Operation &op : function.getBody().front()) {
      if (!op.hasAttr(TandemDialect::kLayer))
        continue;
      if (llvm::is_contained(op.getOperands(), value))
        return &op;
      if (!first)
        first = &op;
    }
    return first;
  }

  func::FuncOp function;
  const Mesh &mesh;
  FlatSymbolRefAttr meshName;
  ReshardPaths &paths;
  OpBuilder builder;
  SmallVector<Value> values; ///< In the order in which they are made.
  DenseMap<Value, TensorType> made;
  DenseMap<Value, std::vector<Need>> needs;
  DenseMap<Operation *, std::string> partOf; ///< Parts of local forms.
};

struct InsertReshardsPass : impl::InsertReshardsBase<InsertReshardsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Mesh mesh = meshOf(module);
    ReshardPaths paths(mesh);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(FunctionRewriter(function, mesh, meshNameOf(module), paths)
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

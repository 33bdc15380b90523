#include "ir/Layers.h"
#include "passes/partition/Layout.h"
#include "passes/partition/Passes.h"
#include "passes/propagate/Propagation.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "passes/partition/Passes.h.inc"

namespace {

bool mayBeSplit(const Factor &factor) {
  return factor.kind != FactorKind::MustReplicate;
}

/// Shortens factors' axes until every dimension of several factors can be
/// split so: evenly, and a minor factor only where the major ones are full.
void legalise(const ShardingRule &rule, FactorAxes &axes) {
  auto shorten = [&](const std::vector<int32_t> &factors) {
    bool changed = false, full = true;
    for (int32_t factor : factors) {
      AxisList &own = axes[factor];
      int64_t size = rule.factors[factor].size;
      while (!own.empty() && (!full || size % sizeOf(own) != 0)) {
        own.pop_back();
        changed = true;
      }
      full &= sizeOf(own) == size;
    }
    return changed;
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto *list : {&rule.operands, &rule.results})
      for (const FactorMapping &tensor : *list)
        for (const std::vector<int32_t> &factors : tensor.dims)
          if (factors.size() > 1)
            changed |= shorten(factors);
  }
}

/// How one operation runs: each factor's axes.
class Choice {
public:
  Choice(const ShardingRule &rule, FactorAxes axes)
      : rule(rule), axes(std::move(axes)) {
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (!mayBeSplit(rule.factors[f]))
        this->axes[f].clear();
    legalise(rule, this->axes);
  }

  Sharding sharding(const FactorMapping &mapping) const {
    Sharding sharding;
    for (AxisList &list : projectToDims(rule, mapping, axes))
      sharding.dims.push_back({std::move(list), false, 0});
    return sharding;
  }

  /// Axes over which results are partial, and how partial results combine.
  AxisList reductionAxes(ReductionKind &kind) const {
    AxisList result;
    kind = ReductionKind::Sum;
    for (size_t f = 0; f < axes.size(); ++f)
      if (rule.factors[f].kind == FactorKind::Reduction && !axes[f].empty()) {
        result.insert(result.end(), axes[f].begin(), axes[f].end());
        kind = rule.factors[f].reduction;
      }
    return result;
  }

  const ShardingRule &rule;
  FactorAxes axes;
};

class FunctionRewriter {
public:
  FunctionRewriter(func::FuncOp function, const Mesh &mesh,
                   FlatSymbolRefAttr meshName, ReshardPaths &paths)
      : function(function), mesh(mesh), meshName(meshName), paths(paths),
        builder(function.getContext()) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    // Before arguments that are unreduced get a reshard of their own.
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
      actual[argument] = wanted[argument] = sharding.getValue(mesh);
      settle(argument, function.getLoc(), nullptr, "argument");
    }
    for (Operation *op : ops)
      if (failed(visit(op)))
        return failure();
    visitReturn(body.getTerminator());
    return success();
  }

private:
  ShardingAttr attrOf(const Sharding &sharding) {
    return ShardingAttr::get(meshName, sharding, mesh);
  }

  LogicalResult visit(Operation *op) {
    auto shardings = op->getAttrOfType<ArrayAttr>(TandemDialect::kShardings);
    auto ruleOp = dyn_cast<ShardingRuleOpInterface>(op);
    if (!shardings || !ruleOp)
      return op->emitOpError(
          "has no 'tandem.shardings'; run propagate-shardings first");
    for (auto [value, attr] : llvm::zip_equal(op->getResults(), shardings))
      wanted[value] = cast<ShardingAttr>(attr).getValue(mesh);
    builder.setInsertionPoint(op);
    if (isa<ShardingConstraintOp>(op)) {
      Value result = op->getResult(0);
      setOperand(op, 0, wanted[result], "sharding_constraint");
      actual[result] = wanted[result];
      return success();
    }
    if (auto constant = dyn_cast<ConstantOp>(op);
        constant && !constant.getValue().isSplat()) {
      // Every rank holds all of it and takes its piece.
      Value result = op->getResult(0);
      finish(op, {Sharding::replicatedOver(wanted[result].dims.size())},
             ReductionKind::Sum);
      return success();
    }
    ShardingRule rule = ruleOp.getShardingRule();
    if (splitSum(op, rule))
      return success();
    Choice choice = choose(op, rule);
    if (expand(op, choice))
      return success();
    AxisList partial = operandsFor(op, choice);
    ReductionKind kind;
    AxisList reduced = choice.reductionAxes(kind);
    partial.insert(partial.end(), reduced.begin(), reduced.end());
    SmallVector<Sharding> natural;
    for (const FactorMapping &mapping : rule.results) {
      natural.push_back(choice.sharding(mapping));
      natural.back().unreduced = partial;
    }
    finish(op, natural, kind);
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Which axes each factor takes
  //===--------------------------------------------------------------------===//

  Choice choose(Operation *op, const ShardingRule &rule) {
    // One proposal for each tensor: what it has, and what others add.
    std::vector<FactorAxes> claims;
    for (auto [value, mapping] :
         llvm::zip_equal(op->getResults(), rule.results))
      claims.push_back(projectToFactors(rule, mapping, wanted[value]));
    for (auto [value, mapping] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      claims.push_back(projectToFactors(rule, mapping, actual[value]));
    std::vector<Choice> choices;
    for (const ShardingRule &form : {rule, gatheringRule(op, rule)})
      for (size_t first = 0; first < claims.size(); ++first) {
        FactorAxes axes = Choice(form, claims[first]).axes;
        for (const FactorAxes &claim : claims)
          addClaim(form, claim, axes);
        Choice choice(rule, std::move(axes));
        if (!hasLocalForm(op, choice))
          continue;
        if (llvm::none_of(choices, [&](const Choice &other) {
              return other.axes == choice.axes;
            }))
          choices.push_back(std::move(choice));
      }
    if (choices.empty())
      choices.emplace_back(rule, FactorAxes(rule.factors.size()));
    size_t best = 0;
    if (choices.size() > 1) {
      int64_t least = INT64_MAX;
      for (size_t c = 0; c < choices.size(); ++c)
        if (int64_t bytes = costOf(op, choices[c]); bytes < least) {
          least = bytes;
          best = c;
        }
    }
    return choices[best];
  }

  /// The rule where an operation that computes no products gathers what it
  /// looks at as a whole, or reduces.
  static ShardingRule gatheringRule(Operation *op, ShardingRule rule) {
    if (!isa<CostOpInterface>(op))
      for (Factor &factor : rule.factors)
        if (factor.kind != FactorKind::PassThrough)
          factor.kind = FactorKind::MustReplicate;
    return rule;
  }

  static std::optional<int64_t> combinedBytes(Operation *op, size_t factor,
                                              const AxisList &axes) {
    auto partition = dyn_cast<PartitionOpInterface>(op);
    if (!partition)
      return std::nullopt;
    return partition.combinedBytes(factor, sizeOf(axes));
  }

  static bool hasLocalForm(Operation *op, const Choice &choice) {
    for (size_t f = 0; f < choice.axes.size(); ++f)
      if (choice.rule.factors[f].kind == FactorKind::Selection &&
          !choice.axes[f].empty() && !combinedBytes(op, f, choice.axes[f]))
        return false;
    return true;
  }

  static void addClaim(const ShardingRule &rule, const FactorAxes &claim,
                       FactorAxes &axes) {
    for (size_t f = 0; f < axes.size(); ++f) {
      if (!mayBeSplit(rule.factors[f]) || !axes[f].empty())
        continue;
      AxisList used;
      for (const AxisList &other : axes)
        used.insert(used.end(), other.begin(), other.end());
      for (const AxisRef &axis : claim[f]) {
        if (overlaps(used, axis))
          break;
        axes[f].push_back(axis);
      }
    }
  }

  int64_t costOf(Operation *op, const Choice &choice) {
    int64_t bytes = 0;
    for (auto [value, mapping] :
         llvm::zip_equal(op->getOperands(), choice.rule.operands)) {
      Sharding to = choice.sharding(mapping);
      to.unreduced = actual[value].unreduced;
      bytes += paths.cost(tensorTypeOf(value.getType(), actual[value]),
                          tensorTypeOf(value.getType(), to));
    }
    ReductionKind kind;
    AxisList partial = choice.reductionAxes(kind);
    for (auto [value, mapping] :
         llvm::zip_equal(op->getResults(), choice.rule.results)) {
      Sharding from = choice.sharding(mapping);
      from.unreduced = partial;
      bytes += paths.cost(tensorTypeOf(value.getType(), from),
                          tensorTypeOf(value.getType(), wanted[value]));
    }
    return bytes + localFormCost(op, choice);
  }

  /// What the local form exchanges, wire bytes a device.
  int64_t localFormCost(Operation *op, const Choice &choice) {
    int64_t ranks = 1, bytes = 0;
    for (const AxisList &axes : choice.axes)
      ranks *= sizeOf(axes);
    for (size_t f = 0; f < choice.axes.size(); ++f) {
      if (choice.rule.factors[f].kind != FactorKind::Selection ||
          choice.axes[f].empty())
        continue;
      int64_t pieces = sizeOf(choice.axes[f]), others = ranks / pieces;
      int64_t whole = *combinedBytes(op, f, choice.axes[f]);
      bytes += trafficOf(CollectiveKind::AllReduce, pieces,
                         (whole + others - 1) / others)
                   .wireBytes;
    }
    return bytes;
  }

  //===--------------------------------------------------------------------===//
  // Operands and results
  //===--------------------------------------------------------------------===//

  /// Brings the operands to what `choice` needs; the axes over which linear
  /// operands stay unreduced.
  AxisList operandsFor(Operation *op, const Choice &choice) {
    const ShardingRule &rule = choice.rule;
    AxisList taken, kept;
    for (const AxisList &axes : choice.axes)
      taken.insert(taken.end(), axes.begin(), axes.end());
    for (auto [i, mapping] : llvm::enumerate(rule.operands)) {
      Value value = op->getOperand(i);
      Sharding needed = choice.sharding(mapping);
      const AxisList &unreduced = actual[value].unreduced;
      bool waits = mapping.linear && !unreduced.empty() &&
                   llvm::none_of(unreduced, [&](const AxisRef &axis) {
                     return overlaps(taken, axis);
                   });
      if (waits && rule.additive)
        waits = allUnreducedOver(op, rule, unreduced);
      if (waits) {
        needed.unreduced = unreduced;
        if (!rule.additive || kept.empty())
          kept.insert(kept.end(), unreduced.begin(), unreduced.end());
        if (!rule.additive)
          taken.insert(taken.end(), unreduced.begin(), unreduced.end());
      }
      setOperand(op, i, needed, (nameOf(op) + " operand").str());
    }
    return kept;
  }

  bool allUnreducedOver(Operation *op, const ShardingRule &rule,
                        const AxisList &axes) {
    for (auto [i, mapping] : llvm::enumerate(rule.operands))
      if (mapping.linear && actual[op->getOperand(i)].unreduced != axes)
        return false;
    return true;
  }

  /// States how the results lie, and brings them to how they should lie.
  void finish(Operation *op, ArrayRef<Sharding> natural, ReductionKind kind) {
    SmallVector<Attribute> attrs;
    for (const Sharding &sharding : natural)
      attrs.push_back(attrOf(sharding));
    op->setAttr(TandemDialect::kShardings, builder.getArrayAttr(attrs));
    builder.setInsertionPointAfter(op);
    for (auto [result, sharding] : llvm::zip_equal(op->getResults(), natural)) {
      actual[result] = sharding;
      bool partial = !sharding.unreduced.empty();
      if (partial && kind == ReductionKind::Sum && canWait(result))
        continue;
      settle(result, op->getLoc(), op,
             ((partial ? "reduction of " : "result of ") + nameOf(op)).str());
    }
  }

  /// Replaces `value` by one that lies as wanted, for all its uses.
  void settle(Value value, Location loc, Operation *source,
              const std::string &cause) {
    if (isa<BlockArgument>(value)) {
      if (actual[value].unreduced.empty())
        return;
      builder.setInsertionPointToStart(&function.getBody().front());
      wanted[value].unreduced.clear();
    }
    if (liesAs(value, wanted[value]) || value.use_empty())
      return;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      uses.push_back(&use);
    Value settled = reshard(value, wanted[value], loc, source, cause);
    for (OpOperand *use : uses)
      use->set(settled);
  }

  /// Whether all uses can take `value` unreduced and none makes it larger.
  bool canWait(Value value) {
    int64_t bytes = tensorTypeOf(value.getType(), actual[value]).localBytes();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      auto ruleOp = dyn_cast<ShardingRuleOpInterface>(user);
      auto shardings =
          user->getAttrOfType<ArrayAttr>(TandemDialect::kShardings);
      // A constraint may ask for the terms themselves.
      if (isa<ShardingConstraintOp>(user) && shardings &&
          !cast<ShardingAttr>(shardings[0]).getUnreduced().empty())
        continue;
      if (!ruleOp || isa<ShardingConstraintOp>(user))
        return false;
      ShardingRule rule = ruleOp.getShardingRule();
      if (!shardings || !rule.operands[use.getOperandNumber()].linear)
        return false;
      for (auto [result, attr] : llvm::zip_equal(user->getResults(), shardings))
        if (tensorTypeOf(result.getType(),
                         cast<ShardingAttr>(attr).getValue(mesh))
                .localBytes() > bytes)
          return false;
    }
    return !value.use_empty();
  }

  /// Uneven pieces depend on how axes are cut, so sizes count.
  bool liesAs(Value value, const Sharding &sharding) {
    return tensorTypeOf(value.getType(), actual[value]) ==
           tensorTypeOf(value.getType(), sharding);
  }

  void setOperand(Operation *op, unsigned index, const Sharding &needed,
                  const std::string &cause) {
    Value value = op->getOperand(index);
    if (liesAs(value, needed))
      return;
    builder.setInsertionPoint(op);
    op->setOperand(index, reshard(value, needed, op->getLoc(), op, cause));
  }

  Value reshard(Value value, const Sharding &to, Location loc,
                Operation *source, const std::string &cause) {
    ShardingAttr attr = attrOf(to);
    Value &known = reshards[{value, attr}];
    if (known)
      return known;
    // Right behind the value, so that it dominates every later use.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    auto op = ReshardOp::create(builder, loc, value.getType(), value, attr,
                                builder.getStringAttr(cause));
    if (Operation *owner =
            value.getDefiningOp() ? value.getDefiningOp() : source)
      copyLayerAndStage(owner, op);
    if (source && !op->hasAttr(TandemDialect::kLayer))
      copyLayerAndStage(source, op);
    if (!op->hasAttr(TandemDialect::kLayer))
      if (Operation *first = firstWithLayer(value))
        copyLayerAndStage(first, op);
    actual[op] = wanted[op] = to;
    return known = op;
  }

  /// The first operation of a layer that reads `value`, an argument; where
  /// none does, the function's first.
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

  //===--------------------------------------------------------------------===//
  // Operations that take themselves apart
  //===--------------------------------------------------------------------===//

  /// A sum of unreduced and reduced terms: the unreduced are added first and
  /// reduced once.
  bool splitSum(Operation *op, const ShardingRule &rule) {
    auto sum = dyn_cast<SumOp>(op);
    if (!sum)
      return false;
    SmallVector<Value> partial, whole;
    for (Value input : sum.getInputs())
      (actual[input].unreduced.empty() ? whole : partial).push_back(input);
    if (partial.empty() ||
        allUnreducedOver(op, rule, actual[partial[0]].unreduced))
      return false;
    // Terms that are unreduced over the same axes are added together.
    SmallVector<SmallVector<Value>> groups;
    for (Value input : partial) {
      auto group = llvm::find_if(groups, [&](ArrayRef<Value> other) {
        return actual[other[0]].unreduced == actual[input].unreduced;
      });
      if (group == groups.end())
        groups.push_back({input});
      else
        group->push_back(input);
    }
    Sharding target = wanted[sum.getResult()];
    SmallVector<Value> terms;
    for (ArrayRef<Value> group : groups) {
      builder.setInsertionPoint(op);
      Value term = group[0];
      Operation *source = term.getDefiningOp();
      if (group.size() > 1) {
        auto inner = SumOp::create(builder, op->getLoc(), group);
        inner->setAttr(TandemDialect::kShardings,
                       builder.getArrayAttr({attrOf(target)}));
        copyLayerAndStage(op, inner);
        term = inner;
        source = inner;
        ShardingRule innerRule =
            cast<ShardingRuleOpInterface>(*inner).getShardingRule();
        wanted[term] = target;
        Choice choice = choose(inner, innerRule);
        Sharding natural = choice.sharding(innerRule.results[0]);
        natural.unreduced = operandsFor(inner, choice);
        inner->setAttr(TandemDialect::kShardings,
                       builder.getArrayAttr({attrOf(natural)}));
        actual[term] = natural;
      }
      std::string cause = source ? ("reduction of " + nameOf(source)).str()
                                 : "reduction of an argument";
      terms.push_back(reshard(
          term, target, source ? source->getLoc() : op->getLoc(), op, cause));
    }
    llvm::append_range(terms, whole);
    if (terms.size() == 1) {
      sum.getResult().replaceAllUsesWith(terms[0]);
      partOf.erase(op);
      op->erase();
      return true;
    }
    op->setOperands(terms);
    ShardingRule outer = cast<ShardingRuleOpInterface>(op).getShardingRule();
    Choice choice = choose(op, outer);
    operandsFor(op, choice);
    finish(op, {choice.sharding(outer.results[0])}, ReductionKind::Sum);
    return true;
  }

  /// An operation that runs by its own local form: the operations of it, laid
  /// out so that what the choice splits stays where it is.
  bool expand(Operation *op, const Choice &choice) {
    const std::vector<Factor> &factors = choice.rule.factors;
    for (size_t f = 0; f < factors.size(); ++f) {
      if (factors[f].kind != FactorKind::Selection || choice.axes[f].empty())
        continue;
      operandsFor(op, choice);
      builder.setInsertionPoint(op);
      Operation *before = op->getPrevNode();
      SmallVector<Value> results = cast<PartitionOpInterface>(op).expand(
          builder, f, sizeOf(choice.axes[f]));
      SmallVector<Operation *> parts;
      for (Operation *part = op->getPrevNode(); part != before;
           part = part->getPrevNode())
        parts.push_back(part);
      std::reverse(parts.begin(), parts.end());
      for (Operation *part : parts)
        partOf[part] = op->getName().stripDialect();
      layOut(op, parts, results, choice);
      op->replaceAllUsesWith(results);
      op->erase();
      for (Operation *part : parts)
        (void)visit(part); // It has a rule and shardings.
      return true;
    }
    return false;
  }

  /// What propagation wants of the parts of `op`, whose operands lie as chosen.
  void layOut(Operation *op, ArrayRef<Operation *> parts,
              ArrayRef<Value> results, const Choice &choice) {
    PropagationGraph graph(mesh);
    DenseMap<Value, int> tensors;
    auto tensorOf = [&](Value value) {
      auto [it, added] = tensors.try_emplace(value, 0);
      if (added)
        it->second = graph.addTensor(toVector(globalShape(value.getType())));
      return it->second;
    };
    for (Value operand : op->getOperands())
      graph.annotate(tensorOf(operand), actual[operand]);
    for (auto [value, mapping] : llvm::zip_equal(results, choice.rule.results))
      graph.annotate(tensorOf(value), choice.sharding(mapping));
    for (Operation *part : parts) {
      auto rule = cast<ShardingRuleOpInterface>(part);
      std::vector<int> inputs, outputs;
      for (Value operand : part->getOperands())
        inputs.push_back(tensorOf(operand));
      for (Value result : part->getResults())
        outputs.push_back(tensorOf(result));
      graph.addOp(rule.getShardingRule(), std::move(inputs), std::move(outputs),
                  rule.isPassThrough());
    }
    graph.run();
    auto layoutOf = [&](Value value) {
      auto it = llvm::find(results, value);
      if (it != results.end())
        return wanted[op->getResult(it - results.begin())];
      Sharding sharding = graph.sharding(tensors[value]);
      for (DimSharding &dim : sharding.dims)
        dim.open = false;
      return sharding;
    };
    for (Operation *part : parts) {
      SmallVector<Attribute> shardings;
      for (Value result : part->getResults())
        shardings.push_back(attrOf(layoutOf(result)));
      part->setAttr(TandemDialect::kShardings, builder.getArrayAttr(shardings));
      if (!isa<ConstantOp>(part))
        copyLayerAndStage(op, part);
    }
  }

  /// For causes: the operation whose local form `op` is a part of, else itself.
  StringRef nameOf(Operation *op) const {
    auto it = partOf.find(op);
    return it == partOf.end() ? op->getName().stripDialect() : it->second;
  }

  void visitReturn(Operation *terminator) {
    for (unsigned i = 0; i < terminator->getNumOperands(); ++i) {
      Value value = terminator->getOperand(i);
      auto sharding = function.getResultAttrOfType<ShardingAttr>(
          i, TandemDialect::kSharding);
      Sharding to = sharding ? sharding.getValue(mesh) : wanted[value];
      setOperand(terminator, i, to, "output");
    }
  }

  func::FuncOp function;
  const Mesh &mesh;
  FlatSymbolRefAttr meshName;
  ReshardPaths &paths;
  OpBuilder builder;
  DenseMap<Value, Sharding> actual; ///< How a value lies.
  DenseMap<Value, Sharding> wanted; ///< How propagation wants it.
  DenseMap<std::pair<Value, Attribute>, Value> reshards;
  DenseMap<Operation *, StringRef> partOf; ///< Of a local form: whose.
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

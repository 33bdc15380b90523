#include "passes/propagate/OperationGraph.h"

#include "ir/Identity.h"
#include "ir/LayoutInvariance.h"

using namespace mlir;

namespace tandem {

namespace {

std::string nameAt(StringRef what, Location loc) {
  std::string text = what.str() + " at ";
  llvm::raw_string_ostream stream(text);
  loc.print(stream);
  return text;
}

} // namespace

int OperationGraph::tensorOf(Value value) {
  auto [it, added] = tensors.try_emplace(value, 0);
  if (added)
    it->second = addTensor(value.getType(), value.getLoc());
  return it->second;
}

int OperationGraph::addTensor(Type type, Location loc) {
  locations.push_back(loc);
  size_t rank = globalShape(type).size();
  TensorType tensor = tensorTypeOf(type, Sharding::replicatedOver(rank));
  return graph.addTensor(tensor.dtype, std::move(tensor.shape));
}

void OperationGraph::addSource(int tensor) {
  PropagationOp op;
  op.rule = identityRule(graph.tensors()[tensor].shape);
  op.rule.operands.clear();
  op.name = nameAt("argument", locations[tensor]);
  op.results = {tensor};
  op.declares = true;
  operations.push_back(nullptr);
  graph.addOp(std::move(op));
}

void OperationGraph::addTarget(Operation *owner, int from, int to,
                               int64_t times) {
  PropagationOp op;
  op.times = op.resultTimes = times;
  op.rule = identityRule(graph.tensors()[from].shape);
  op.name = nameAt(owner->getName().getStringRef(), owner->getLoc());
  op.operands = {from};
  op.results = {to};
  op.passThrough = true;
  op.declares = true;
  operations.push_back(owner);
  graph.addOp(std::move(op));
}

LogicalResult OperationGraph::addOperation(Operation *owner, int64_t times) {
  auto rule = dyn_cast<ShardingRuleOpInterface>(owner);
  if (!rule)
    return owner->emitOpError("has no sharding rule: expected an operation on "
                              "global tensors");
  auto constraint = dyn_cast<ShardingConstraintOp>(owner);
  if (constraint && constraint.getShardingAttr()) {
    int result = tensorOf(constraint.getResult());
    annotate(result, constraint.getShardingAttr().getValue(graph.mesh()));
    addTarget(owner, tensorOf(constraint.getInput()), result, times);
    return success();
  }
  PropagationOp op;
  op.name = nameAt(owner->getName().getStringRef(), owner->getLoc());
  op.times = times;
  op.resultTimes = isa<AccumulateOp>(owner) ? 1 : times;
  op.backward = owner->hasAttr(TandemDialect::kBackward);
  op.rule = rule.getShardingRule();
  // What ranks add must not be a sum of what one rank adds one by one.
  if (layoutInvariantPieces(owner) > 0)
    for (FactorMapping &operand : op.rule.operands)
      operand.linear = false;
  op.passThrough = rule.isPassThrough();
  op.sums = isa<SumOp>(owner);
  if (auto cost = dyn_cast<CostOpInterface>(owner))
    op.flops = cost.getFlops();
  if (auto partition = dyn_cast<PartitionOpInterface>(owner))
    op.exchanged = [partition](int32_t factor, int64_t pieces) mutable {
      return partition.combinedBytes(factor, pieces);
    };
  for (Value operand : owner->getOperands())
    op.operands.push_back(tensorOf(operand));
  op.readsParameter = llvm::any_of(op.operands, [&](int tensor) {
    return graph.tensors()[tensor].parameter;
  });
  for (Value result : owner->getResults())
    op.results.push_back(tensorOf(result));
  // A master weight is a parameter in the type that it is used in.
  if (isa<CastOp>(owner) && op.readsParameter)
    graph.setParameter(op.results[0]);
  operations.push_back(owner);
  graph.addOp(std::move(op));
  return success();
}

Status OperationGraph::decide(const PropagationOptions &options,
                              ReshardPaths &paths) {
  graph.run(options);
  openOps = std::make_unique<OpenOps>(graph, paths, options.openOps);
  if (options.openOps)
    return openOps->solve();
  openOps->takeFirst();
  return Status();
}

ShardingAttr OperationGraph::shardingOf(int tensor) const {
  return ShardingAttr::get(meshName, openOps->sharding(tensor), graph.mesh());
}

ArrayAttr OperationGraph::axesAttr(const std::vector<AxisList> &lists) const {
  MLIRContext *context = meshName.getContext();
  SmallVector<Attribute> attrs;
  for (const AxisList &axes : lists)
    attrs.push_back(AxesAttr::get(context, axes, graph.mesh()));
  return ArrayAttr::get(context, attrs);
}

void OperationGraph::write(int number) const {
  Operation *owner = operations[number];
  const PropagationOp &op = graph.ops()[number];
  Builder builder(owner->getContext());
  SmallVector<Attribute> shardings;
  for (int result : op.results)
    shardings.push_back(shardingOf(result));
  owner->setAttr(TandemDialect::kShardings, builder.getArrayAttr(shardings));
  const OpChoice &choice = openOps->choice(number);
  SmallVector<NamedAttribute> parts{
      builder.getNamedAttr("factors", axesAttr(choice.axes))};
  if (llvm::any_of(choice.unreduced,
                   [](const AxisList &axes) { return !axes.empty(); }))
    parts.push_back(
        builder.getNamedAttr("unreduced", axesAttr(choice.unreduced)));
  if (!choice.first.empty())
    parts.push_back(builder.getNamedAttr(
        "first", builder.getDenseI32ArrayAttr(choice.first)));
  owner->setAttr(TandemDialect::kChoice, builder.getDictionaryAttr(parts));
}

void OperationGraph::write() const {
  for (size_t o = 0; o < operations.size(); ++o)
    if (operations[o] && !operations[o]->hasTrait<OpTrait::IsTerminator>())
      write(static_cast<int>(o));
}

double OperationGraph::compute() const {
  double alone = 0, together = 0;
  for (size_t o = 0; o < operations.size(); ++o) {
    const PropagationOp &op = graph.ops()[o];
    const FactorAxes &axes = openOps->choice(o).axes;
    double work = op.flops;
    alone += work;
    int64_t atWork = 1;
    for (size_t f = 0; f < axes.size(); ++f) {
      int64_t pieces = sizeOf(axes[f]), size = op.rule.factors[f].size;
      if (pieces > 1)
        work *= double(capacityOf(size, axes[f])) * pieces / size;
      atWork *= pieces;
    }
    together += work * ranksOfStage() / atWork;
  }
  return alone > 0 ? together / alone : 1;
}

/// Ranks that hold one stage.
int64_t OperationGraph::ranksOfStage() const {
  return graph.mesh().numRanks() / graph.mesh().sizeOf("pp");
}

std::string OperationGraph::repeating() const {
  std::string text;
  for (const Axis &axis : graph.mesh().axes()) {
    double all = 0, repeated = 0;
    for (size_t o = 0; o < operations.size(); ++o) {
      double work = graph.ops()[o].flops;
      all += work;
      const FactorAxes &axes = openOps->choice(o).axes;
      if (llvm::none_of(axes, [&](const AxisList &list) {
            return overlaps(list, graph.mesh().whole(axis.name));
          }))
        repeated += work;
    }
    if (axis.size > 1 && axis.name != "pp" && repeated > 0.04 * all)
      text += (text.empty() ? "\"" : ", \"") + axis.name + "\"";
  }
  return text;
}

int64_t OperationGraph::bytes() const {
  return openOps->bytesOf(openOps->taken()).value_or(0);
}

/// What was decided without proof is said; aloud where it could cost a part
/// that matters.
void OperationGraph::reportGap() {
  auto first = llvm::find_if(operations, [](Operation *op) { return op; });
  if (openOps->isExact() || first == operations.end())
    return;
  int64_t all = bytes(), gap = openOps->gap();
  InFlightDiagnostic diagnostic =
      gap > all / 20 ? (*first)->emitWarning() : (*first)->emitRemark();
  diagnostic << "too much is open together to prove what is cheapest";
  if (gap > 0)
    diagnostic << ": " << all << " bytes move on each device, and others might "
               << "move up to " << gap << " fewer";
}

void OperationGraph::report() {
  reportGap();
  for (size_t o = 0; o < operations.size(); ++o)
    if (!graph.ops()[o].declares && openOps->choices(o).size() > 1)
      report(static_cast<int>(o));
}

void OperationGraph::report(int number) {
  const PropagationOp &op = graph.ops()[number];
  InFlightDiagnostic remark = operations[number]->emitRemark("open: ");
  remark << openOps->text(number, openOps->taken(number)) << " moves "
         << openOps->bytesWith(number, openOps->taken(number)) << " bytes";
  for (size_t c = 0; c < openOps->choices(number).size(); ++c)
    if (static_cast<int>(c) != openOps->taken(number))
      remark << "; " << openOps->text(number, c) << " would move "
             << openOps->bytesWith(number, c);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    Sharding has = openOps->sharding(op.operands[i]);
    Sharding needed = operandSharding(op.rule, openOps->choice(number), i);
    if (!has.sameLayout(needed))
      remark.attachNote(locations[op.operands[i]])
          << "operand " << i << " lies as " << toString(has, graph.mesh())
          << " and is needed as " << toString(needed, graph.mesh());
  }
}

std::optional<OpChoice> choiceOf(Operation *op, const Mesh &mesh) {
  auto attr = op->getAttrOfType<DictionaryAttr>(TandemDialect::kChoice);
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  if (!attr || !rule)
    return std::nullopt;
  auto lists = [&](StringRef name, size_t count) {
    std::vector<AxisList> result;
    if (auto array = attr.getAs<ArrayAttr>(name))
      for (Attribute axes : array)
        if (auto list = dyn_cast<AxesAttr>(axes))
          result.push_back(list.getValue(mesh));
    result.resize(count);
    return result;
  };
  OpChoice choice;
  choice.axes = lists("factors", rule.getShardingRule().factors.size());
  choice.unreduced = lists("unreduced", op->getNumOperands());
  if (auto first = attr.getAs<DenseI32ArrayAttr>("first"))
    choice.first.assign(first.asArrayRef().begin(), first.asArrayRef().end());
  return choice;
}

} // namespace tandem

#include "ir/Layers.h"
#include "ir/Microbatches.h"
#include "ir/PortAttributes.h"
#include "passes/partition/Passes.h"
#include "passes/strategy/ReshardPaths.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_PARTITION
#include "passes/partition/Passes.h.inc"

namespace {

class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp function, const Mesh &mesh,
                      FlatSymbolRefAttr meshName, ReshardPaths &paths)
      : function(function), mesh(mesh), meshName(meshName), paths(paths) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    setFlops("tandem.flops_unsharded", 1);
    for (BlockArgument argument : body.getArguments()) {
      auto sharding = function.getArgAttrOfType<ShardingAttr>(
          argument.getArgNumber(), TandemDialect::kSharding);
      if (!sharding)
        return function.emitOpError()
               << "argument " << argument.getArgNumber()
               << " has no 'tandem.sharding'; run propagate-shardings first";
      setLocalType(argument, sharding, ReductionKind::Sum);
    }
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (failed(visit(&op)))
        return failure();
    SmallVector<Type> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(value.getType());
    function.setFunctionType(FunctionType::get(
        function.getContext(), body.getArgumentTypes(), results));
    PortAttributes ports(function);
    for (unsigned i = 0; i < body.getNumArguments(); ++i)
      ports.argument(i).erase(TandemDialect::kSharding);
    for (unsigned i = 0; i < results.size(); ++i)
      ports.result(i).erase(TandemDialect::kSharding);
    ports.write();
    // An operation runs on the ranks of one stage.
    setFlops("tandem.flops", mesh.numRanks() / mesh.sizeOf("pp"));
    return success();
  }

private:
  /// Products' floating-point operations of a step on `ranks` ranks, as types
  /// state now.
  void setFlops(StringRef name, int64_t ranks) {
    StepParts parts(function);
    uint64_t flops = 0;
    function.walk([&](CostOpInterface op) {
      flops += op.getFlops() * static_cast<uint64_t>(parts.timesOf(op));
    });
    function->setAttr(
        name, Builder(function.getContext()).getI64IntegerAttr(flops * ranks));
  }

  void setLocalType(Value value, ShardingAttr sharding, ReductionKind kind) {
    value.setType(localType(cast<RankedTensorType>(value.getType()),
                            canonical(sharding), mesh, kind));
  }

  /// One spelling for each layout: closed, without priorities.
  ShardingAttr canonical(ShardingAttr attr) {
    Sharding sharding = attr.getValue(mesh);
    sharding.replicated.clear();
    for (DimSharding &dim : sharding.dims) {
      dim.open = false;
      dim.priority = 0;
    }
    return ShardingAttr::get(meshName, sharding, mesh);
  }

  LogicalResult visit(Operation *op) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      return expand(reshard);
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op)) {
      constraint.getResult().replaceAllUsesWith(constraint.getInput());
      constraint.erase();
      return success();
    }
    auto shardings = op->getAttrOfType<ArrayAttr>(TandemDialect::kShardings);
    if (!shardings)
      return op->emitOpError(
          "has no 'tandem.shardings'; run insert-reshards first");
    op->removeAttr(TandemDialect::kShardings);
    ReductionKind kind = reductionOf(op, shardings);
    for (auto [result, sharding] : llvm::zip_equal(op->getResults(), shardings))
      setLocalType(result, cast<ShardingAttr>(sharding), kind);
    return success();
  }

  static ReductionKind reductionOf(Operation *op, ArrayAttr shardings) {
    auto ruleOp = dyn_cast<ShardingRuleOpInterface>(op);
    bool partial = llvm::any_of(shardings, [](Attribute attr) {
      return !cast<ShardingAttr>(attr).getUnreduced().empty();
    });
    if (!ruleOp || !partial)
      return ReductionKind::Sum;
    for (const Factor &factor : ruleOp.getShardingRule().factors)
      if (factor.kind == FactorKind::Reduction)
        return factor.reduction;
    return ReductionKind::Sum;
  }

  LogicalResult expand(ReshardOp op) {
    TensorType from = tensorTypeOf(op.getInput().getType(), mesh);
    TensorType to =
        tensorTypeOf(op.getInput().getType(), op.getSharding().getValue(mesh));
    const Result<ReshardPath> &path = paths.get(from, to);
    if (!path.ok())
      return op.emitOpError(path.status().message());
    OpBuilder builder(op);
    Value value = op.getInput();
    for (const ReshardStep &step : path->steps) {
      value = collective(builder, op, value, step);
      copyLayerAndStage(op, value.getDefiningOp());
    }
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }

  Value collective(OpBuilder &builder, ReshardOp op, Value input,
                   const ReshardStep &step) {
    const Collective &c = step.collective;
    Location loc = op.getLoc();
    auto axes = AxesAttr::get(builder.getContext(), c.axes, mesh);
    Type type =
        localType(cast<RankedTensorType>(input.getType()),
                  ShardingAttr::get(meshName, step.result.sharding, mesh), mesh,
                  step.result.reduction);
    StringAttr cause = op.getCauseAttr();
    IntegerAttr dim = builder.getI64IntegerAttr(c.dim);
    switch (c.kind) {
    case CollectiveKind::AllReduce:
      return AllReduceOp::create(builder, loc, type, input, axes, cause);
    case CollectiveKind::AllGather:
      return AllGatherOp::create(builder, loc, type, input, axes, dim, cause);
    case CollectiveKind::ReduceScatter:
      return ReduceScatterOp::create(builder, loc, type, input, axes, dim,
                                     cause);
    case CollectiveKind::AllToAll:
      return AllToAllOp::create(builder, loc, type, input, axes,
                                builder.getI64IntegerAttr(c.fromDim), dim,
                                cause);
    case CollectiveKind::AllSlice:
      return AllSliceOp::create(builder, loc, type, input, axes, dim, cause);
    case CollectiveKind::Permute:
      return PermuteOp::create(builder, loc, type, input, axes, cause);
    case CollectiveKind::Broadcast:
    case CollectiveKind::Send:
    case CollectiveKind::Recv:
      break;
    }
    llvm_unreachable("no step of a reshard path");
  }

  func::FuncOp function;
  const Mesh &mesh;
  FlatSymbolRefAttr meshName;
  ReshardPaths &paths;
};

struct PartitionPass : impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Mesh mesh = meshOf(module);
    ReshardPaths paths(mesh);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(FunctionPartitioner(function, mesh, meshNameOf(module), paths)
                     .run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

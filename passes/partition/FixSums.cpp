#include "ir/Layers.h"
#include "ir/LayoutInvariance.h"
#include "ir/ops/Formula.h"
#include "passes/partition/Passes.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_FIXSUMS
#include "passes/partition/Passes.h.inc"

namespace {

bool isFloat(Value value) { return isa<FloatType>(elementTypeOf(value)); }

int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// Rewrites the operations of one function of which layouts would make
/// different sums.
class SumFixer {
public:
  SumFixer(func::FuncOp function, int64_t pieces)
      : function(function), pieces(pieces), builder(function.getContext()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(
             function.getBody().front().without_terminator()))
      visit(&op);
  }

private:
  void visit(Operation *op) {
    builder.setInsertionPoint(op);
    before = op->getPrevNode();
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
      return bringTogether(constraint);
    if (!llvm::all_of(op->getResults(), isFloat))
      return;
    if (auto partition = dyn_cast<PartitionOpInterface>(op))
      return expand(partition);
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return fix(reduce);
    if (auto product = dyn_cast<EinsumOp>(op))
      return fix(product);
    if (auto sum = dyn_cast<SumOp>(op))
      return fix(sum);
  }

  /// Gives what was created for `op` its place, and takes `op` out.
  void replace(Operation *op, ValueRange results) {
    for (Operation *part = op->getPrevNode(); part && part != before;
         part = part->getPrevNode())
      if (!isa<ConstantOp>(part) && !part->hasAttr(TandemDialect::kLayer))
        copyLayer(op, part);
    op->replaceAllUsesWith(results);
    op->erase();
  }

  /// A sum does not wait: what is added to it first, or how often, would be a
  /// matter of the layout.
  void bringTogether(ShardingConstraintOp op) {
    ShardingAttr sharding = op.getShardingAttr();
    if (sharding && !sharding.getUnreduced().empty())
      replace(op, op.getInput());
  }

  /// A value made of a dimension that layouts may split and it lacks, as a
  /// loss is of the vocabulary, is the sum that its local form says, on every
  /// layout.
  void expand(PartitionOpInterface op) {
    ShardingRule rule =
        cast<ShardingRuleOpInterface>(op.getOperation()).getShardingRule();
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      auto has = [&](const FactorMapping &mapping) {
        return llvm::any_of(mapping.dims, [&](const auto &factors) {
          return llvm::is_contained(factors, static_cast<int32_t>(f));
        });
      };
      auto factor = static_cast<int32_t>(f);
      if (rule.factors[f].kind != FactorKind::Selection ||
          llvm::any_of(rule.results, has) || !op.combinedBytes(factor, pieces))
        continue;
      replace(op, op.expand(builder, factor, pieces));
      return;
    }
  }

  //===--------------------------------------------------------------------===//
  // One dimension at a time
  //===--------------------------------------------------------------------===//

  /// Any of several dimensions may be split where each has a sum of its own.
  void fix(ReduceOp op) {
    bool narrow = !elementTypeOf(op.getInput()).isF32() &&
                  !elementTypeOf(op.getInput()).isF64();
    if (op.getKind() != ReduceKind::Sum || (op.getDims().size() < 2 && !narrow))
      return;
    Formula f(builder, op.getLoc());
    Value value = op.getInput();
    if (narrow)
      value = f.cast(value, builder.getF32Type());
    for (int64_t dim : llvm::reverse(op.getDims()))
      value = f.reduce(ReduceKind::Sum, value, dim);
    replace(op, f.cast(value, elementTypeOf(op.getResult())));
  }

  /// A product of two whole tensors is a sum, and treated so; another is not
  /// rounded to a narrow type before ranks have added its parts.
  void fix(EinsumOp op) {
    EinsumEquation equation = *EinsumEquation::parse(op.getEquation().str());
    Formula f(builder, op.getLoc());
    Type element = elementTypeOf(op.getResult());
    Value value = op.getResult();
    std::string left = contracted(equation);
    if (left.empty())
      return;
    if (isDot(equation) && left.size() > 1)
      value = product(op, equation, left, f);
    else if (element.isF32() || element.isF64())
      return;
    else
      value =
          EinsumOp::create(builder, op.getLoc(),
                           op.getResult().getType().clone(builder.getF32Type()),
                           op.getEquation(), op.getInputs());
    replace(op, f.cast(value, element));
  }

  /// The letters that the result lacks, in the order of the first operand.
  static std::string contracted(const EinsumEquation &equation) {
    std::string letters;
    for (char letter : equation.operands[0])
      if (equation.result.find(letter) == std::string::npos)
        letters += letter;
    return letters;
  }

  /// Whether both operands have all letters.
  static bool isDot(const EinsumEquation &equation) {
    auto sorted = [](std::string letters) {
      llvm::sort(letters);
      return letters;
    };
    return equation.operands.size() == 2 &&
           sorted(equation.operands[0]) == sorted(equation.operands[1]);
  }

  /// The last letter of `left` contracted in the product, the others behind it.
  Value product(EinsumOp op, const EinsumEquation &equation,
                const std::string &left, Formula &f) {
    std::string result;
    SmallVector<int64_t> shape;
    auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
    auto add = [&](char letter) {
      result += letter;
      shape.push_back(type.getShape()[equation.operands[0].find(letter)]);
    };
    llvm::for_each(equation.result, add);
    for (char letter : StringRef(left).drop_back())
      add(letter);
    Value value = EinsumOp::create(
        builder, op.getLoc(),
        RankedTensorType::get(shape, elementTypeOf(op.getResult()).isF64()
                                         ? Type(builder.getF64Type())
                                         : Type(builder.getF32Type())),
        builder.getStringAttr(equation.operands[0] + "," +
                              equation.operands[1] + "->" + result),
        op.getInputs());
    for (size_t dim = result.size(); dim > equation.result.size(); --dim)
      value = f.reduce(ReduceKind::Sum, value, static_cast<int64_t>(dim - 1));
    return value;
  }

  //===--------------------------------------------------------------------===//
  // Over stages
  //===--------------------------------------------------------------------===//

  /// Numbers of several layers, which stages may hold apart: each layer's has
  /// a lane of its own until all are there.
  void fix(SumOp op) {
    std::map<int64_t, SmallVector<Value>> layers;
    for (Value term : op.getInputs()) {
      Operation *source = term.getDefiningOp();
      std::optional<int64_t> layer = source ? layerOf(source) : std::nullopt;
      if (!layer)
        return;
      layers[*layer].push_back(term);
    }
    if (rankOf(op.getResult()) != 0 || layers.size() < 2)
      return;
    Formula f(builder, op.getLoc());
    auto count = static_cast<int64_t>(layers.size());
    SmallVector<Value> lanes;
    for (auto &[layer, terms] : layers) {
      Value value = terms[0];
      if (terms.size() > 1)
        value = SumOp::create(builder, op.getLoc(), value.getType(), terms);
      lanes.push_back(onLane(f.reshape(value, {1}),
                             static_cast<int64_t>(lanes.size()), count));
      setLayer(lanes.back(), layer);
    }
    Value all = SumOp::create(builder, op.getLoc(), lanes[0].getType(), lanes);
    replace(op, f.reduce(ReduceKind::Sum, all, 0));
  }

  Value onLane(Value value, int64_t lane, int64_t count) {
    auto type = cast<RankedTensorType>(value.getType());
    return PadOp::create(builder, value.getLoc(), type.clone({count}), value,
                         builder.getDenseI64ArrayAttr({lane}),
                         builder.getDenseI64ArrayAttr({count - 1 - lane}),
                         builder.getF64FloatAttr(0));
  }

  /// Of what leads to `value` and has no layer yet.
  void setLayer(Value value, int64_t layer) {
    Operation *op = value.getDefiningOp();
    if (!op || op->hasAttr(TandemDialect::kLayer))
      return;
    op->setAttr(TandemDialect::kLayer, builder.getI64IntegerAttr(layer));
    for (Value operand : op->getOperands())
      setLayer(operand, layer);
  }

  func::FuncOp function;
  int64_t pieces;
  OpBuilder builder;
  Operation *before = nullptr; ///< The last one in front of what is created.
};

struct FixSumsPass : impl::FixSumsBase<FixSumsPass> {
  void runOnOperation() override {
    int64_t pieces = layoutInvariantPieces(getOperation());
    if (pieces == 0)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        SumFixer(function, pieces).run();
  }
};

} // namespace
} // namespace tandem

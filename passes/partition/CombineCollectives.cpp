#include "ir/LayoutInvariance.h"
#include "passes/partition/Passes.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_COMBINECOLLECTIVES
#include "passes/partition/Passes.h.inc"

namespace {

bool isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, AllSliceOp,
             PermuteOp>(op);
}

/// What two collectives of one value must share to be one; the cause, the
/// layer and the location of the first stay.
DictionaryAttr identity(Operation *op) {
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : op->getAttrs())
    if (attr.getName() != "cause" && attr.getName() != TandemDialect::kLayer)
      attrs.push_back(attr);
  return DictionaryAttr::get(op->getContext(), attrs);
}

struct CombineCollectivesPass
    : impl::CombineCollectivesBase<CombineCollectivesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        combine(function.getBody().front());
  }

  void combine(Block &body) {
    for (Operation &op :
         llvm::make_early_inc_range(body.without_terminator())) {
      // Both may erase the operation.
      if (auto sum = dyn_cast<SumOp>(op); sum && !layoutInvariantPieces(sum))
        reduceOnce(sum);
      else if (isCollective(&op))
        mergeWithEarlier(&op);
    }
  }

  /// all_reduce(a) + all_reduce(b) + c -> all_reduce(a + b) + c.
  void reduceOnce(SumOp sum) {
    SmallVector<AllReduceOp> reduced;
    SmallVector<Value> others;
    for (Value input : sum.getInputs()) {
      auto op = input.getDefiningOp<AllReduceOp>();
      bool alike = op && input.hasOneUse() &&
                   (reduced.empty() || (op.getAxes() == reduced[0].getAxes() &&
                                        op.getInput().getType() ==
                                            reduced[0].getInput().getType()));
      if (alike)
        reduced.push_back(op);
      else
        others.push_back(input);
    }
    if (reduced.size() < 2)
      return;
    if (localOf(reduced[0].getInput().getType()).getReduction() !=
        ReductionKind::Sum)
      return;
    OpBuilder builder(sum);
    SmallVector<Value> terms;
    for (AllReduceOp op : reduced)
      terms.push_back(op.getInput());
    auto inner = SumOp::create(builder, sum.getLoc(), terms);
    inner->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    auto once =
        AllReduceOp::create(builder, reduced[0].getLoc(), sum.getType(), inner,
                            reduced[0].getAxes(), reduced[0].getCauseAttr());
    once->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    others.insert(others.begin(), once);
    if (others.size() == 1) {
      sum.getResult().replaceAllUsesWith(once);
      sum.erase();
    } else {
      sum->setOperands(others);
    }
    for (AllReduceOp op : reduced)
      op.erase();
  }

  void mergeWithEarlier(Operation *op) {
    DictionaryAttr same = identity(op);
    for (Operation *user : op->getOperand(0).getUsers()) {
      if (user == op || user->getName() != op->getName() ||
          user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op) ||
          user->getResultTypes() != op->getResultTypes() ||
          identity(user) != same)
        continue;
      op->replaceAllUsesWith(user->getResults());
      op->erase();
      return;
    }
  }
};

} // namespace
} // namespace tandem

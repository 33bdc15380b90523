#include "passes/autodiff/Gradients.h"

#include "ir/Layers.h"

#include <limits>

using namespace mlir;

namespace tandem {
namespace {

RankedTensorType tensorOf(Value value) {
  return llvm::cast<RankedTensorType>(value.getType());
}

/// What the gradient of a parameter, or of its cast, is called; null for other
/// values.
ViewAttr gradientName(Value value) {
  while (auto cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto view = function.getArgAttrOfType<ViewAttr>(argument.getArgNumber(),
                                                  TandemDialect::kParameter);
  if (!view)
    return {};
  return ViewAttr::get(view.getContext(), "grad." + view.getKey().str(),
                       view.getStoredShape(), StringAttr(), view.getSteps());
}

/// Moves `total` and what makes its term to where the term can be made, so that
/// no microbatch's gradients wait for each other's.
void moveBack(AccumulateOp total) {
  SmallVector<Operation *> chain = {total};
  Operation *op = total.getInput().getDefiningOp();
  for (; op && isa<SumOp, ShardingConstraintOp, CastOp>(op) &&
         op->hasOneUse() && llvm::is_contained(chain, *op->user_begin());
       op = chain.back()->getPrevNode())
    chain.push_back(op);
  Operation *last = nullptr;
  for (Operation *part : chain)
    for (Value operand : part->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && !llvm::is_contained(chain, maker) &&
          (!last || last->isBeforeInBlock(maker)))
        last = maker;
  for (Operation *part : chain)
    if (last)
      part->moveAfter(last);
}

/// Operations without a layer come first.
int64_t layerOrder(Operation *op) {
  std::optional<int64_t> layer = op ? layerOf(op) : std::nullopt;
  return layer.value_or(std::numeric_limits<int64_t>::min());
}

} // namespace

RankedTensorType accumulatorType(Type type) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  if (isa<Float64Type>(tensor.getElementType()))
    return tensor;
  return tensor.clone(Float32Type::get(type.getContext()));
}

BackwardBuilder::BackwardBuilder(func::FuncOp function)
    : OpBuilder(function.getBody().front().getTerminator(), this) {}

/// Constants are cloned to their uses and belong to no layer.
void BackwardBuilder::notifyOperationInserted(Operation *op,
                                              OpBuilder::InsertPoint) {
  if (isa<ConstantOp>(op))
    return;
  if (forward) {
    copyLayer(forward, op);
    op->setLoc(forward->getLoc());
  }
  op->setAttr(TandemDialect::kBackward, getUnitAttr());
}

void Gradients::add(Value value, Value part, Operation *user) {
  contributions[value].push_back({part, user});
}

Value Gradients::of(Value value) {
  SmallVector<Part> all = contributions.lookup(value);
  if (all.empty())
    return {};
  Operation *maker = value.getDefiningOp();
  llvm::stable_sort(all, [](const Part &a, const Part &b) {
    return layerOrder(a.user) < layerOrder(b.user);
  });
  auto inBody = [&](const Part &part) {
    return part.user && parts.of(part.user) == StepPart::Body;
  };
  if (!maker || parts.of(maker) != StepPart::Body) {
    auto *rest = std::stable_partition(all.begin(), all.end(), inBody);
    SmallVector<Part> terms;
    for (Part *part = all.begin(); part != rest;) {
      Part *next = std::find_if(part, rest, [&](const Part &other) {
        return layerOrder(other.user) != layerOrder(part->user);
      });
      terms.push_back(accumulated(value, ArrayRef(part, next)));
      part = next;
    }
    terms.append(rest, all.end());
    all = terms;
  }
  if (maker)
    all.front().user = maker;
  return sum(all);
}

/// At the place of the first term's user, in the widest type among them.
Value Gradients::sum(ArrayRef<Part> terms) {
  builder.workFor(terms.front().user);
  Location loc = terms.front().gradient.getLoc();
  RankedTensorType type = tensorOf(terms.front().gradient);
  for (const Part &term : terms)
    if (tensorOf(term.gradient).getElementTypeBitWidth() >
        type.getElementTypeBitWidth())
      type = tensorOf(term.gradient);
  SmallVector<Value> values;
  for (const Part &term : terms)
    values.push_back(term.gradient.getType() == type
                         ? term.gradient
                         : CastOp::create(builder, loc, type, term.gradient));
  return values.size() == 1 ? values.front()
                            : SumOp::create(builder, loc, values).getResult();
}

/// The sum over all microbatches of one layer's gradients of `value`.
Gradients::Part Gradients::accumulated(Value value, ArrayRef<Part> ofLayer) {
  Value added = sum(ofLayer);
  if (ViewAttr name = gradientName(value))
    added = ShardingConstraintOp::create(
        builder, added.getLoc(), added.getType(), added, ShardingAttr(), name);
  auto total = AccumulateOp::create(builder, added.getLoc(),
                                    accumulatorType(added.getType()), added);
  moveBack(total);
  return {total, ofLayer.front().user};
}

} // namespace tandem

#include "ir/ops/Formula.h"
#include "ir/ops/Shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;

/// The letters of the operands and then of the result, one text a tensor.
std::vector<std::string> letterGroups(EinsumOp op) {
  EinsumEquation equation = *EinsumEquation::parse(op.getEquation().str());
  std::vector<std::string> groups = equation.operands;
  groups.push_back(equation.result);
  return groups;
}

/// All letters in order of first appearance.
std::string lettersOf(ArrayRef<std::string> groups) {
  std::string letters;
  for (const std::string &group : groups)
    for (char letter : group)
      if (letters.find(letter) == std::string::npos)
        letters += letter;
  return letters;
}

//===----------------------------------------------------------------------===//
// Evaluation of an einsum
//===----------------------------------------------------------------------===//

/// For each letter, how far a step along it moves in a tensor's data.
std::vector<size_t> letterStrides(const std::string &letters,
                                  const std::string &group,
                                  const Tensor &tensor) {
  std::vector<size_t> strides(letters.size(), 0);
  size_t stride = 1;
  for (size_t d = group.size(); d-- > 0;) {
    strides[letters.find(group[d])] = stride;
    stride *= tensor.dim(d).capacity;
  }
  return strides;
}

/// Valid lanes of each letter; nothing where tensors disagree.
std::optional<std::vector<int64_t>>
letterSizes(const std::string &letters, ArrayRef<std::string> groups,
            ArrayRef<const Tensor *> tensors) {
  std::vector<int64_t> sizes(letters.size(), -1);
  for (size_t t = 0; t < groups.size(); ++t)
    for (size_t d = 0; d < groups[t].size(); ++d) {
      int64_t &size = sizes[letters.find(groups[t][d])];
      if (size >= 0 && size != tensors[t]->dim(d).valid)
        return std::nullopt;
      size = tensors[t]->dim(d).valid;
    }
  return sizes;
}

size_t offsetOf(const std::vector<int64_t> &index,
                const std::vector<size_t> &strides) {
  size_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset += index[i] * strides[i];
  return offset;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

struct Reduction {
  ReductionKind kind;
  double neutral;
  double (*combine)(double, double);
};

const Reduction reductions[] = {
    {ReductionKind::Sum, 0, [](double x, double y) { return x + y; }},
    {ReductionKind::Max, -std::numeric_limits<double>::infinity(),
     [](double x, double y) { return std::isnan(x) || x > y ? x : y; }},
    {ReductionKind::Min, std::numeric_limits<double>::infinity(),
     [](double x, double y) { return std::isnan(x) || x < y ? x : y; }},
};

const Reduction &reductionOf(ReduceKind kind) {
  return reductions[static_cast<size_t>(kind)];
}

/// The elements of `index` at dimensions that are not among `dims`.
std::vector<int64_t> without(const std::vector<int64_t> &index,
                             ArrayRef<int64_t> dims) {
  std::vector<int64_t> rest;
  for (size_t i = 0; i < index.size(); ++i)
    if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
      rest.push_back(index[i]);
  return rest;
}

} // namespace

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

namespace {

LogicalResult verifyLetterSizes(EinsumOp op, ArrayRef<std::string> groups) {
  std::map<char, int64_t> sizes;
  std::vector<Value> tensors(op.getInputs().begin(), op.getInputs().end());
  tensors.push_back(op.getResult());
  for (size_t t = 0; t < groups.size(); ++t) {
    std::vector<int64_t> shape = shapeOf(tensors[t]);
    std::string what = t + 1 == groups.size() ? std::string("result")
                                              : "operand " + std::to_string(t);
    if (shape.size() != groups[t].size())
      return op.emitOpError()
             << "equation has " << groups[t].size() << " letters for " << what
             << ", expected " << shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      auto [entry, isNew] = sizes.try_emplace(groups[t][d], shape[d]);
      if (entry->second != shape[d])
        return op.emitOpError()
               << "letter '" << groups[t][d] << "' has size " << shape[d]
               << " in " << what << ", expected " << entry->second;
    }
  }
  return success();
}

} // namespace

LogicalResult EinsumOp::verify() {
  Result<EinsumEquation> equation = EinsumEquation::parse(getEquation().str());
  if (!equation.ok())
    return emitOpError(equation.status().message());
  if (equation->operands.size() != getInputs().size())
    return emitOpError() << "equation has " << equation->operands.size()
                         << " operands, expected " << getInputs().size();
  return verifyLetterSizes(*this, letterGroups(*this));
}

ShardingRule EinsumOp::getShardingRule() {
  std::vector<std::string> groups = letterGroups(*this);
  std::string letters = lettersOf(groups);
  ShardingRule rule;
  for (char letter : letters)
    rule.factors.push_back({1,
                            groups.back().find(letter) == std::string::npos
                                ? FactorKind::Reduction
                                : FactorKind::PassThrough,
                            ReductionKind::Sum});
  auto mapping = [&](const std::string &group, Value value) {
    std::vector<int64_t> shape = shapeOf(value);
    FactorMapping result;
    for (size_t d = 0; d < group.size(); ++d) {
      int32_t factor = static_cast<int32_t>(letters.find(group[d]));
      rule.factors[factor].size = shape[d];
      result.dims.push_back({factor});
    }
    return result;
  };
  for (auto [group, input] : llvm::zip(groups, getInputs())) {
    rule.operands.push_back(mapping(group, input));
    rule.operands.back().linear = true;
  }
  rule.results.push_back(mapping(groups.back(), getResult()));
  return rule;
}

KernelSpec EinsumOp::getKernelSpec() { return {"einsum", {}, -1, false}; }

uint64_t EinsumOp::getFlops() {
  std::map<char, uint64_t> sizes;
  std::vector<std::string> groups = letterGroups(*this);
  for (auto [group, input] : llvm::zip(groups, getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    for (auto [letter, size] : llvm::zip(group, type.getShape()))
      sizes[letter] = size;
  }
  uint64_t product = 2;
  for (auto [letter, size] : sizes)
    product *= size;
  return product;
}

LogicalResult EinsumOp::evaluate(Operands operands, Results results) {
  std::vector<std::string> groups = letterGroups(*this);
  std::string letters = lettersOf(groups);
  std::vector<const Tensor *> tensors(operands.begin(), operands.end());
  tensors.push_back(&results[0]);
  auto sizes = letterSizes(letters, groups, tensors);
  if (!sizes)
    return emitOpError("operands hold different lanes of a letter");
  std::vector<std::vector<size_t>> strides;
  for (size_t t = 0; t < groups.size(); ++t)
    strides.push_back(letterStrides(letters, groups[t], *tensors[t]));
  results[0].forEachValid(
      [&](const std::vector<int64_t> &index) { results[0].at(index) = 0; });
  forEachIndex(*sizes, [&](const std::vector<int64_t> &index) {
    double product = 1;
    for (size_t t = 0; t < operands.size(); ++t)
      product *= operands[t]->data()[offsetOf(index, strides[t])];
    results[0].data()[offsetOf(index, strides.back())] += product;
  });
  return success();
}

namespace {

/// The gradient of operand `index`: the equation turned around. Letters that
/// only this operand has are repeated.
Value einsumGradient(EinsumOp op, size_t index, OpBuilder &builder,
                     Value gradient) {
  std::vector<std::string> groups = letterGroups(op);
  auto type = cast<RankedTensorType>(op.getInputs()[index].getType());
  SmallVector<Value> inputs = {gradient};
  std::string equation = groups.back(), known = equation;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    if (i != index) {
      inputs.push_back(input);
      equation += "," + groups[i];
      known += groups[i];
    }
  SmallVector<int64_t> dims, shape;
  equation += "->";
  for (auto [d, letter] : llvm::enumerate(groups[index]))
    if (known.find(letter) != std::string::npos) {
      equation += letter;
      dims.push_back(static_cast<int64_t>(d));
      shape.push_back(type.getShape()[d]);
    }
  Value product = EinsumOp::create(builder, op.getLoc(), type.clone(shape),
                                   equation, inputs);
  if (product.getType() == type)
    return product;
  return Formula(builder, op.getLoc())
      .broadcast(product, dims, type.getShape());
}

} // namespace

SmallVector<Value> EinsumOp::differentiate(OpBuilder &builder,
                                           ValueRange gradients) {
  SmallVector<Value> result;
  for (size_t i = 0; i < getInputs().size(); ++i)
    result.push_back(einsumGradient(*this, i, builder, gradients[0]));
  return result;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  std::vector<int64_t> shape = shapeOf(getInput());
  int64_t previous = -1;
  for (int64_t dim : getDims()) {
    if (failed(expectInRange(*this, "dims entry", dim, shape.size())))
      return failure();
    if (dim <= previous)
      return emitOpError() << "dims are " << shapeText(getDims())
                           << ", expected ascending ones";
    previous = dim;
  }
  return failure(
      failed(expectElementType(*this, "result", getResult(),
                               getInput().getType().getElementType())) ||
      failed(expectShape(*this, "result", getResult(),
                         without(shape, getDims()))));
}

ShardingRule ReduceOp::getShardingRule() {
  std::vector<int64_t> shape = shapeOf(getInput());
  ShardingRule rule;
  rule.operands.push_back(consecutiveFactors(shape.size()));
  rule.operands[0].linear = getKind() == ReduceKind::Sum;
  rule.results.emplace_back();
  for (size_t d = 0; d < shape.size(); ++d) {
    bool reduced = llvm::is_contained(getDims(), static_cast<int64_t>(d));
    rule.factors.push_back(
        {shape[d], reduced ? FactorKind::Reduction : FactorKind::PassThrough,
         reduced ? reductionOf(getKind()).kind : ReductionKind::Sum});
    if (!reduced)
      rule.results[0].dims.push_back({static_cast<int32_t>(d)});
  }
  return rule;
}

KernelSpec ReduceOp::getKernelSpec() {
  return {"reduce", {static_cast<int64_t>(getKind())}, -1, false};
}

LogicalResult ReduceOp::evaluate(Operands operands, Results results) {
  const Reduction &reduction = reductionOf(getKind());
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    results[0].at(index) = reduction.neutral;
  });
  operands[0]->forEachValid([&](const std::vector<int64_t> &index) {
    double &result = results[0].at(without(index, getDims()));
    result = reduction.combine(result, operands[0]->at(index));
  });
  return success();
}

/// Of a maximum or minimum, lanes that attain it share the gradient.
SmallVector<Value> ReduceOp::differentiate(OpBuilder &builder,
                                           ValueRange gradients) {
  Formula f(builder, getLoc());
  std::vector<int64_t> shape = shapeOf(getInput());
  std::vector<int64_t> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> kept = without(all, getDims());
  if (getKind() == ReduceKind::Sum)
    return {f.broadcast(gradients[0], kept, shape)};
  Value attained = f.compare(CompareKind::Eq, getInput(),
                             f.broadcast(getResult(), kept, shape));
  Value count = f.reduce(
      ReduceKind::Sum, f.cast(attained, elementTypeOf(getInput())), getDims());
  Value share = f.div(gradients[0], count);
  return {f.where(attained, f.broadcast(share, kept, shape))};
}

//===----------------------------------------------------------------------===//
// cumulative_sum
//===----------------------------------------------------------------------===//

LogicalResult CumulativeSumOp::verify() {
  return expectInRange(*this, "dim", getDim(), shapeOf(getInput()).size());
}

ShardingRule CumulativeSumOp::getShardingRule() {
  ShardingRule rule = elementwiseRule(*this);
  rule.operands[0].linear = true;
  rule.factors[getDim()].kind = FactorKind::MustReplicate;
  return rule;
}

KernelSpec CumulativeSumOp::getKernelSpec() {
  return {"cumulative_sum",
          {static_cast<int64_t>(getDim()), getExclusive(), getReverse()},
          -1,
          false};
}

LogicalResult CumulativeSumOp::evaluate(Operands operands, Results results) {
  const Tensor &input = *operands[0];
  size_t dim = getDim();
  int64_t size = input.dim(dim).valid;
  results[0].forEachValid([&](const std::vector<int64_t> &index) {
    int64_t begin = getReverse() ? index[dim] + getExclusive() : 0;
    int64_t end = getReverse() ? size : index[dim] + !getExclusive();
    std::vector<int64_t> at = index;
    double sum = 0;
    for (at[dim] = begin; at[dim] < end; ++at[dim])
      sum += input.at(at);
    results[0].at(index) = sum;
  });
  return success();
}

/// A lane counts in the sums behind it, so its gradient sums theirs.
SmallVector<Value> CumulativeSumOp::differentiate(OpBuilder &builder,
                                                  ValueRange gradients) {
  return {CumulativeSumOp::create(builder, getLoc(), gradients[0].getType(),
                                  gradients[0], getDim(), getExclusive(),
                                  !getReverse())};
}

} // namespace tandem

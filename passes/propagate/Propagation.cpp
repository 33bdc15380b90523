#include "passes/propagate/Propagation.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace tandem {
namespace {

/// Gives the factors of one dimension their shares of its axes, major first,
/// as long as each axis or part divides what is left of the factor.
void shareAxes(const ShardingRule &rule, const std::vector<int32_t> &factors,
               const AxisList &axes, FactorAxes &result) {
  size_t f = 0;
  int64_t left = rule.factors[factors[0]].size;
  for (AxisRef axis : axes) {
    while (axis.size > 1) {
      while (left == 1 && f + 1 < factors.size())
        left = rule.factors[factors[++f]].size;
      if (left % axis.size == 0) {
        result[factors[f]].push_back(axis);
        left /= axis.size;
        break;
      }
      if (left == 1 || axis.size % left != 0)
        return;
      result[factors[f]].push_back({axis.name, axis.preSize, left});
      axis.preSize *= left;
      axis.size /= left;
      left = 1;
    }
  }
}

/// The leading axes that overlap with nothing in `used`.
AxisList freePart(const AxisList &axes, const AxisList &used) {
  AxisList result;
  for (const AxisRef &axis : axes) {
    if (overlaps(used, axis))
      break;
    result.push_back(axis);
  }
  return result;
}

} // namespace

FactorAxes projectToFactors(const ShardingRule &rule,
                            const FactorMapping &mapping,
                            const Sharding &sharding) {
  FactorAxes result(rule.factors.size());
  for (size_t d = 0; d < mapping.dims.size(); ++d) {
    const std::vector<int32_t> &factors = mapping.dims[d];
    const AxisList &axes = sharding.dims[d].axes;
    if (factors.size() == 1)
      result[factors[0]] = axes;
    else if (!factors.empty())
      shareAxes(rule, factors, axes, result);
  }
  return result;
}

std::vector<AxisList> projectToDims(const ShardingRule &rule,
                                    const FactorMapping &mapping,
                                    const FactorAxes &axes) {
  std::vector<AxisList> dims(mapping.dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<int32_t> &factors = mapping.dims[d];
    for (int32_t factor : factors) {
      const AxisList &own = axes[factor];
      int64_t size = rule.factors[factor].size;
      if (factors.size() > 1 && size % sizeOf(own) != 0)
        break;
      dims[d].insert(dims[d].end(), own.begin(), own.end());
      if (sizeOf(own) != size)
        break;
    }
    // Parts that one factor has are as they were cut.
    if (factors.size() > 1 && dims[d] != axes[factors[0]])
      dims[d] = merged(dims[d]);
  }
  return dims;
}

const FactorMapping &PropagationOp::mapping(size_t index) const {
  return index < operands.size() ? rule.operands[index]
                                 : rule.results[index - operands.size()];
}

int PropagationOp::tensor(size_t index) const {
  return index < operands.size() ? operands[index]
                                 : results[index - operands.size()];
}

bool PropagationOp::spreads(int32_t f) const {
  switch (rule.factors[f].kind) {
  case FactorKind::PassThrough:
  case FactorKind::Reduction:
    return true;
  case FactorKind::Selection:
    return exchanged && exchanged(f, 2);
  case FactorKind::MustReplicate:
    break;
  }
  return false;
}

int PropagationGraph::addTensor(DType dtype, std::vector<int64_t> shape) {
  PropagationTensor tensor;
  tensor.dtype = dtype;
  tensor.now = Sharding::replicatedOver(shape.size());
  for (DimSharding &dim : tensor.now.dims)
    dim.open = true;
  tensor.annotation = tensor.now;
  tensor.shape = std::move(shape);
  tensors_.push_back(std::move(tensor));
  return static_cast<int>(tensors_.size() - 1);
}

void PropagationGraph::annotate(int tensor, const Sharding &sharding) {
  assert(sharding.dims.size() == tensors_[tensor].shape.size());
  Sharding &own = tensors_[tensor].annotation;
  own = sharding;
  // Axes of one rank split nothing: so there is one type for each layout.
  own.replicated = withoutTrivial(own.replicated);
  own.unreduced = withoutTrivial(own.unreduced);
  for (DimSharding &dim : own.dims)
    dim.axes = withoutTrivial(dim.axes);
}

int PropagationGraph::addOp(PropagationOp op) {
  assert(op.rule.operands.size() == op.operands.size() &&
         op.rule.results.size() == op.results.size());
  ops_.push_back(std::move(op));
  return static_cast<int>(ops_.size() - 1);
}

/// Makes the annotations of `priority` count. What propagation put onto other
/// dimensions and an annotation needs is given back to it.
void PropagationGraph::activate(int32_t priority) {
  for (PropagationTensor &tensor : tensors_) {
    tensor.now.replicated = tensor.annotation.replicated;
    tensor.now.unreduced = tensor.annotation.unreduced;
    for (size_t d = 0; d < tensor.now.dims.size(); ++d) {
      const DimSharding &wanted = tensor.annotation.dims[d];
      if (wanted.priority != priority)
        continue;
      DimSharding &dim = tensor.now.dims[d];
      if (!(wanted.open && isPrefix(wanted.axes, dim.axes)))
        dim = wanted;
      dim.open = wanted.open;
      for (size_t other = 0; other < tensor.now.dims.size(); ++other)
        if (other != d)
          tensor.now.dims[other].axes =
              freePart(tensor.now.dims[other].axes, dim.axes);
      ++tensor.version;
    }
  }
}

void PropagationGraph::run(const PropagationOptions &options) {
  for (auto [first, second] : ties_)
    tensors_[second].annotation = tensors_[first].annotation;
  std::set<int32_t> priorities{0};
  for (PropagationTensor &tensor : tensors_) {
    for (DimSharding &dim : tensor.annotation.dims) {
      if (!options.userPriorities)
        dim.priority = 0;
      priorities.insert(dim.priority);
    }
  }
  for (int32_t priority : priorities) {
    activate(priority);
    if (options.openOps && priority == *priorities.rbegin())
      break;
    for (bool aggressive : {false, true}) {
      if (aggressive && !options.aggressive)
        continue;
      if (options.opPriorities)
        fixedPoint(/*passThroughOnly=*/true, aggressive);
      fixedPoint(/*passThroughOnly=*/false, aggressive);
    }
  }
}

int64_t PropagationGraph::versions(const PropagationOp &op) const {
  int64_t sum = 0;
  for (size_t i = 0; i < op.numTensors(); ++i)
    sum += tensors_[op.tensor(i)].version;
  return sum;
}

void PropagationGraph::fixedPoint(bool passThroughOnly, bool aggressive) {
  for (PropagationOp &op : ops_)
    op.seen = 0;
  // Forward and backward sweeps in turn: most of it settles in one of each.
  bool changed = true;
  auto step = [&](PropagationOp &op) {
    if ((passThroughOnly && !op.passThrough) || op.seen == versions(op))
      return;
    changed |= visit(op, aggressive);
    op.seen = versions(op);
  };
  while (changed) {
    changed = false;
    std::for_each(ops_.begin(), ops_.end(), step);
    std::for_each(ops_.rbegin(), ops_.rend(), step);
    for (auto [first, second] : ties_)
      changed |= agree(first, second) | agree(second, first);
  }
}

/// Gives `to` what `from` has more.
bool PropagationGraph::agree(int from, int to) {
  bool changed = false;
  for (size_t d = 0; d < tensors_[from].now.dims.size(); ++d) {
    const AxisList &axes = tensors_[from].now.dims[d].axes;
    DimSharding &dim = tensors_[to].now.dims[d];
    if (!dim.open || dim.axes == axes || !isPrefix(dim.axes, axes))
      continue;
    dim.axes = axes;
    ++tensors_[to].version;
    changed = true;
  }
  return changed;
}

bool PropagationGraph::visit(PropagationOp &op, bool aggressive) {
  size_t count = op.rule.factors.size();
  std::vector<FactorAxes> projections;
  for (size_t i = 0; i < op.numTensors(); ++i)
    projections.push_back(
        projectToFactors(op.rule, op.mapping(i), tensors_[op.tensor(i)].now));
  // What all tensors that hold a factor agree on: the longest list that the
  // others' lists lead to, else their common lead.
  FactorAxes agreed(count);
  for (size_t f = 0; f < count; ++f) {
    bool disagree = false;
    for (const FactorAxes &projection : projections) {
      const AxisList &axes = projection[f];
      if (axes.empty())
        continue;
      disagree |= !isPrefix(agreed[f], axes) && !isPrefix(axes, agreed[f]);
      if (disagree)
        agreed[f] = commonPrefix(agreed[f], axes);
      else if (isPrefix(agreed[f], axes))
        agreed[f] = axes;
    }
  }
  FactorAxes wanted(count);
  for (size_t f = 0; f < count; ++f) {
    if (!op.spreads(static_cast<int32_t>(f)))
      continue;
    AxisList used;
    if (!aggressive)
      for (const FactorAxes &projection : projections)
        for (size_t g = 0; g < count; ++g)
          if (g != f)
            used.insert(used.end(), projection[g].begin(), projection[g].end());
    wanted[f] = freePart(agreed[f], used);
  }
  bool changed = false;
  for (size_t i = 0; i < op.numTensors(); ++i)
    changed |= extend(tensors_[op.tensor(i)], op, i, wanted);
  return changed;
}

bool PropagationGraph::extend(PropagationTensor &tensor,
                              const PropagationOp &op, size_t index,
                              const FactorAxes &wanted) {
  bool changed = false;
  std::vector<AxisList> dims =
      projectToDims(op.rule, op.mapping(index), wanted);
  for (size_t d = 0; d < dims.size(); ++d) {
    DimSharding &dim = tensor.now.dims[d];
    if (!dim.open || dims[d].empty() || !isPrefix(dim.axes, dims[d]))
      continue;
    AxisList more = withoutPrefix(dims[d], dim.axes);
    AxisList used = tensor.now.replicated;
    used.insert(used.end(), tensor.now.unreduced.begin(),
                tensor.now.unreduced.end());
    for (const DimSharding &other : tensor.now.dims)
      used.insert(used.end(), other.axes.begin(), other.axes.end());
    for (const AxisRef &axis : freePart(more, used)) {
      dim.axes.push_back(axis);
      changed = true;
    }
  }
  if (changed)
    ++tensor.version;
  return changed;
}

} // namespace tandem

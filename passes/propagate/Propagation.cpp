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

bool spreads(const Factor &factor) {
  return factor.kind == FactorKind::PassThrough ||
         factor.kind == FactorKind::Reduction;
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

int PropagationGraph::addTensor(std::vector<int64_t> shape) {
  TensorState tensor;
  tensor.now = Sharding::replicatedOver(shape.size());
  for (DimSharding &dim : tensor.now.dims)
    dim.open = true;
  tensor.shape = std::move(shape);
  tensors.push_back(std::move(tensor));
  return static_cast<int>(tensors.size() - 1);
}

void PropagationGraph::annotate(int tensor, const Sharding &sharding) {
  assert(sharding.dims.size() == tensors[tensor].shape.size());
  tensors[tensor].annotation = sharding;
  tensors[tensor].annotated = true;
}

void PropagationGraph::addOp(ShardingRule rule, std::vector<int> operands,
                             std::vector<int> results, bool passThrough) {
  assert(rule.operands.size() == operands.size() &&
         rule.results.size() == results.size());
  OpState op;
  op.rule = std::move(rule);
  op.tensors = std::move(operands);
  op.tensors.insert(op.tensors.end(), results.begin(), results.end());
  op.passThrough = passThrough;
  ops.push_back(std::move(op));
}

const FactorMapping &PropagationGraph::mapping(const OpState &op,
                                               size_t index) const {
  size_t operands = op.rule.operands.size();
  return index < operands ? op.rule.operands[index]
                          : op.rule.results[index - operands];
}

/// Makes the annotations of `priority` count. What propagation put onto other
/// dimensions and an annotation needs is given back to it.
void PropagationGraph::activate(int32_t priority) {
  for (TensorState &tensor : tensors) {
    if (!tensor.annotated)
      continue;
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
  std::set<int32_t> priorities{0};
  for (TensorState &tensor : tensors) {
    for (DimSharding &dim : tensor.annotation.dims) {
      if (!options.userPriorities)
        dim.priority = 0;
      priorities.insert(dim.priority);
    }
  }
  for (int32_t priority : priorities) {
    activate(priority);
    for (bool aggressive : {false, true}) {
      if (aggressive && !options.aggressive)
        continue;
      if (options.opPriorities)
        fixedPoint(/*passThroughOnly=*/true, aggressive);
      fixedPoint(/*passThroughOnly=*/false, aggressive);
    }
  }
}

int64_t PropagationGraph::versions(const OpState &op) const {
  int64_t sum = 0;
  for (int tensor : op.tensors)
    sum += tensors[tensor].version;
  return sum;
}

void PropagationGraph::fixedPoint(bool passThroughOnly, bool aggressive) {
  for (OpState &op : ops)
    op.seen = 0;
  // Forward and backward sweeps in turn: most of it settles in one of each.
  bool changed = true;
  auto step = [&](OpState &op) {
    if ((passThroughOnly && !op.passThrough) || op.seen == versions(op))
      return;
    changed |= visit(op, aggressive);
    op.seen = versions(op);
  };
  while (changed) {
    changed = false;
    std::for_each(ops.begin(), ops.end(), step);
    std::for_each(ops.rbegin(), ops.rend(), step);
  }
}

bool PropagationGraph::visit(OpState &op, bool aggressive) {
  size_t count = op.rule.factors.size();
  std::vector<FactorAxes> projections;
  for (size_t i = 0; i < op.tensors.size(); ++i)
    projections.push_back(
        projectToFactors(op.rule, mapping(op, i), tensors[op.tensors[i]].now));
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
    if (!spreads(op.rule.factors[f]))
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
  for (size_t i = 0; i < op.tensors.size(); ++i)
    changed |= extend(tensors[op.tensors[i]], op, i, wanted);
  return changed;
}

bool PropagationGraph::extend(TensorState &tensor, const OpState &op,
                              size_t index, const FactorAxes &wanted) {
  bool changed = false;
  std::vector<AxisList> dims =
      projectToDims(op.rule, mapping(op, index), wanted);
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

std::vector<PropagationConflict> PropagationGraph::conflicts() const {
  std::vector<PropagationConflict> result;
  for (size_t o = 0; o < ops.size(); ++o) {
    const OpState &op = ops[o];
    std::vector<int> holder(op.rule.factors.size(), -1);
    FactorAxes first(op.rule.factors.size());
    for (size_t i = 0; i < op.tensors.size(); ++i) {
      FactorAxes axes =
          projectToFactors(op.rule, mapping(op, i), tensors[op.tensors[i]].now);
      for (const std::vector<int32_t> &dim : mapping(op, i).dims)
        for (int32_t f : dim) {
          if (!spreads(op.rule.factors[f]))
            continue;
          if (holder[f] < 0) {
            holder[f] = op.tensors[i];
            first[f] = axes[f];
          } else if (first[f] != axes[f]) {
            result.push_back({static_cast<int>(o), f, holder[f], op.tensors[i],
                              first[f], axes[f]});
            first[f] = axes[f]; // once for each change
          }
        }
    }
  }
  return result;
}

} // namespace tandem
